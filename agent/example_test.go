package agent_test

import (
	"context"
	"fmt"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/browser/chromedpdriver"
)

// An agent opens an order's page at a Company. What it meets there that needs an approval waits for papaver tui on the
// same home.
func Example() {
	visit := func(ctx context.Context, dir string) error {
		a, err := agent.Start(ctx, agent.Config{Home: dir, Driver: chromedpdriver.Driver{}, Title: "look at an order"})
		if err != nil {
			return err
		}
		defer a.Close(ctx)
		v, err := a.Visit(ctx, "https://company.example")
		if err != nil {
			return err
		}
		result, err := v.Do(ctx, agent.Step{Act: browser.Act{Kind: browser.Navigate, URL: "https://company.example/orders"}})
		if err != nil {
			return err
		}
		fmt.Println(result.Outcomes) // of the operations that the act met, when they are settled
		return nil
	}
	_ = visit
}
