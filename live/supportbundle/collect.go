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

// Options configure Collect.
type Options struct {
	// Config and Client are for the cluster, with the user's identity.
	Config *rest.Config
	Client dynamic.Interface
	// Namespace is Kanon's own.
	Namespace string
	// Version is that of the collecting program.
	Version string
	// Metrics are the addresses that serve metrics, such as https://localhost:8443. Token authenticates there; if it is
	// empty, the identity of Config does.
	Metrics []*url.URL
	Token   string
	// Now is the time of the bundle.
	Now time.Time
	// Progress is called with the name of each part before it is read. It may be nil.
	Progress func(what string)
}

type collector struct {
	Options
	*Bundle
}

// Collect reads all parts. It leaves out what cannot be read, and the bundle lists that.
func Collect(ctx context.Context, o Options) *Bundle {
	c := &collector{o, &Bundle{
		Name: "kanon-support-" + o.Now.UTC().Format("20060102-150405"), made: o.Now,
		files: make(map[string][]byte), values: make(redact.Values),
	}}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	// The Secrets come first: later parts may quote them.
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

// addEvents adds the Events of all namespaces or, without the right to list those, of Kanon's.
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
