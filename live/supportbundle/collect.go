package supportbundle

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/live/eventlog"
	"kanon.dev/kanon/live/listing"
	"kanon.dev/kanon/redact"
)

// Options are what to collect.
type Options struct {
	// Config and Client are the cluster, and who asks.
	Config *rest.Config
	Client dynamic.Interface
	// Namespace is Kanon's own.
	Namespace string
	// Version is that of the program that collects.
	Version string
	// Metrics are the addresses that serve metrics, such as https://localhost:8443, and Token is whom they let in; empty: the one
	// who asks the cluster.
	Metrics []*url.URL
	Token   string
	// Now is the time of the bundle.
	Now time.Time
	// Progress is called with what is read next. It may be nil.
	Progress func(what string)
}

// collector collects a bundle.
type collector struct {
	Options
	*Bundle
}

// Collect reads what there is to read. What cannot be read is left out, and the bundle says so.
func Collect(ctx context.Context, o Options) *Bundle {
	c := &collector{o, &Bundle{
		Name: "kanon-support-" + o.Now.UTC().Format("20060102-150405"), made: o.Now,
		files: make(map[string][]byte), values: make(redact.Values),
	}}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	// The Secrets come first: what is read later may quote them.
	for _, part := range []struct {
		what string
		read func(ctx context.Context)
	}{
		{"Secrets, to hide their values", c.noteSecrets},
		{"versions and Pods", c.addKanon},
		{"rules, parents and children", c.addRules},
		{"records", c.addRecords},
		{"Events", c.addEvents},
		{"metrics and profiles", c.addMetrics},
	} {
		c.Progress(part.what)
		part.read(ctx)
	}
	return c.Bundle
}

// addEvents adds the Events of all namespaces, or of Kanon's where those are all that may be read.
func (c *collector) addEvents(ctx context.Context) {
	const file = "events.txt"
	events, _, err := eventlog.Log{Client: c.Client}.List(ctx)
	if err != nil {
		c.lacks(file, err)
		if events, _, err = (eventlog.Log{Client: c.Client, Namespace: c.Namespace}).List(ctx); err != nil {
			return
		}
	}
	c.addList(file, eventlog.ListOf(events, true, c.Now))
}

// addList adds a list as a table.
func (c *collector) addList(file string, list listing.List) {
	var text strings.Builder
	if err := (&listing.Printer{Out: &text, Format: listing.Wide}).Print(list); err != nil {
		c.lacks(file, err)
		return
	}
	c.addText(file, text.String())
}

// addYAML adds a value as YAML.
func (c *collector) addYAML(file string, value any) {
	text, err := yaml.Marshal(value)
	if err != nil {
		c.lacks(file, fmt.Errorf("encode it: %w", err))
		return
	}
	c.addText(file, string(text))
}
