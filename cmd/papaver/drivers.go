package main

import (
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/browser/chromedpdriver"
	"github.com/papaver-agent/papaver/browser/roddriver"
)

// drivers are what --driver may name, the first one being meant when it names none.
var drivers = []struct {
	name   string
	driver browser.Driver
}{
	{"chromedp", chromedpdriver.Driver{}},
	{"rod", roddriver.Driver{}},
}

// driverOf is the driver of that name; nil when there is none.
func driverOf(name string) browser.Driver {
	for _, d := range drivers {
		if d.name == name {
			return d.driver
		}
	}
	return nil
}
