package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"kanon.dev/kanon/cmd/kanonbench/internal/dashboard"
	"kanon.dev/kanon/cmd/kanonbench/internal/report"
)

// scrapeInterval is the interval between scrapes. A scrape must end before the next.
const scrapeInterval = time.Second

func newDashboardCommand() *cobra.Command {
	var board, out string
	o := Options{Engines: []string{report.Kanon}, Rounds: 1}
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Draw the dashboard with the metrics of a benchmark",
		Long: `Have Kanon go through the phases of a benchmark on a control plane that is started for it, scrape its metrics every second, and
draw the panels of a Grafana dashboard with them, as SVG. Their queries are evaluated by Prometheus' own engine.`,
		Example: `  kanonbench dashboard --board deploy/dashboard.json --out docs/dashboard.svg`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return drawDashboard(cmd.Context(), &benchmark{options: o, out: io.Discard, progress: cmd.ErrOrStderr()}, board, out)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Kanon, "kanon", "bin/kanon", "the program kanon")
	flags.StringVar(&o.ControlPlane, "controlplane", "bin/controlplane", "the program controlplane")
	flags.StringSliceVar(&o.Loads, "load", []string{"plain=1000"}, "what Kanon does, as for kanonbench run")
	flags.IntVar(&o.Singles, "singles", 100, "how many parents are created one by one")
	flags.DurationVar(&o.Rest, "rest", 30*time.Second, "how long Kanon is at rest")
	flags.StringVar(&board, "board", "deploy/dashboard.json", "the dashboard, as Grafana imports it")
	flags.StringVar(&out, "out", "docs/dashboard.svg", "the file for the picture")
	return cmd
}

// drawDashboard benchmarks Kanon, and draws a dashboard with the metrics scraped meanwhile.
func drawDashboard(ctx context.Context, b *benchmark, path, out string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read dashboard: %w", err)
	}
	board, err := dashboard.Read(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("read dashboard %s: %w", path, err)
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	b.options.KanonArgs = append(slices.Clone(b.options.KanonArgs), "--metrics-bind-address="+address, "--metrics-secure=false")
	var marks []dashboard.Mark
	b.began = func(phase report.Phase) {
		if title := titleOf(phase); title != "" {
			marks = append(marks, dashboard.Mark{At: time.Now(), Title: title})
		}
	}
	store := dashboard.NewStore(map[string]string{"job": "kanon", "namespace": "kanon-system", "pod": "kanon-0"})
	ended, end := context.WithCancel(ctx)
	var both errgroup.Group
	both.Go(func() error { return scrape(ended, "http://"+address+"/metrics", store) })
	both.Go(func() error { defer end(); return b.run(ctx) })
	if err := both.Wait(); err != nil {
		return err
	}
	loads := strings.Join(b.options.Loads, ", ")
	err = writeFile(out, func(w io.Writer) error {
		return board.Draw(ctx, w, store, dashboard.Options{Subtitle: "one replica in the benchmark " + loads, Marks: marks})
	})
	if err != nil {
		return fmt.Errorf("draw dashboard: %w", err)
	}
	b.say("the picture is " + out)
	return nil
}

// titleOf is the title of a phase in the picture; empty if the phase is not marked.
func titleOf(phase report.Phase) string {
	switch phase {
	case report.New:
		return "new parents"
	case report.Change:
		return "change of all parents"
	case report.Drift:
		return "drift of half of them"
	case report.One:
		return "new parents, one by one"
	case report.Delete:
		return "deletion of all"
	case report.Rest:
		return "rest"
	case report.Restart:
		return "restart"
	default:
		return ""
	}
}

// freeAddress is a free TCP address on loopback.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

// scrape adds the metrics at an address to a store until ctx ends. It skips scrapes that nobody answers, as before
// Kanon's start.
func scrape(ctx context.Context, address string, store *dashboard.Store) error {
	ticker := time.NewTicker(scrapeInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := scrapeOnce(ctx, address, store); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

func scrapeOnce(ctx context.Context, address string, store *dashboard.Store) (err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return fmt.Errorf("scrape: %w", err)
	}
	at := time.Now()
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil // Kanon is not running
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("scrape %s: %s", address, answer.Status)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil // Kanon has ended
	}
	return store.Add(at, bytes.NewReader(text))
}
