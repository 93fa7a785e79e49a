// Command firstagent is an agent in one function: it exchanges a jacket at the bundled shop, and says what became of it.
// docs/first-agent.md tells how to run it; main_test.go tests it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/browser/chromedpdriver"
)

func main() {
	cfg := agent.Config{Driver: chromedpdriver.Driver{}, Title: "exchange the jacket"}
	flag.StringVar(&cfg.Home, "home", os.Getenv("PAPAVER_HOME"), "the home")
	flag.BoolVar(&cfg.NoSandbox, "no-sandbox", false, "start Chromium without its sandbox, as root has to")
	flag.Func("site", "the file with what papaver site printed", func(name string) error { return reach(&cfg, name) })
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := exchange(ctx, cfg, "https://stormline.test", os.Stdout); err != nil {
		stop()
		if failed, ok := errors.AsType[*agent.Failed](err); ok {
			log.Fatalf("%v\nnext: %s", failed, failed.Next)
		}
		log.Fatal(err)
	}
}

// reach has the agent reach the bundled shop, which has no public name.
func reach(cfg *agent.Config, name string) error {
	var site struct {
		ConnectTo []string `json:"connect_to"`
		CACert    string   `json:"cacert"`
	}
	data, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, &site)
	}
	cfg.ConnectTo, cfg.CACerts = site.ConnectTo, []string{site.CACert}
	return err
}

func exchange(ctx context.Context, cfg agent.Config, company string, out io.Writer) error {
	a, err := agent.Start(ctx, cfg)
	if err != nil {
		return err
	}
	defer a.Close(context.WithoutCancel(ctx))
	v, err := a.Visit(ctx, company) // joins a Session there
	if err != nil {
		return err
	}
	for _, step := range []agent.Step{
		agent.Navigate(company + "/orders/ord_7Hk2"), agent.Fill("#size", "L"), agent.Click("aria/Exchange"),
	} {
		result, err := v.Begin(ctx, step) // does not wait for anybody's answer
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %s\n", step.Act.Kind, result.Status()) // done, or waiting for the User
		for _, round := range result.Rounds {
			status, err := round.Wait(ctx) // performed, refused, declined, expired, failed or unknown
			if err != nil {
				return err
			}
			op, _ := round.Operation()
			fmt.Fprintf(out, "%s: %q\n", status, op.Summary)
		}
	}
	return nil
}
