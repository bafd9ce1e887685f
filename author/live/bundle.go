package live

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/author/redact"
)

// Bundle is what a support bundle contains.
type Bundle struct {
	// Name is the name of the directory in the archive.
	Name string

	made   time.Time
	files  map[string][]byte
	unread []string
	// values are those of Secrets.
	values redact.Values
	// checked is true if all Secrets could be read.
	checked bool
}

// Unread lists the parts that could not be read, with the errors.
func (b *Bundle) Unread() []string { return slices.Clone(b.unread) }

// Redacted reports whether the Secrets of the cluster could be read, so that all their values are hidden.
func (b *Bundle) Redacted() bool { return b.checked }

// Files lists the names of the files, sorted.
func (b *Bundle) Files() []string { return slices.Sorted(maps.Keys(b.files)) }

// addText adds a file of text, and hides values of Secrets.
func (b *Bundle) addText(name, text string) { b.files[name] = []byte(b.values.Text(text)) }

// addBinary adds a file that has no text of objects.
func (b *Bundle) addBinary(name, data string) { b.files[name] = []byte(data) }

// lacks records that a part could not be read; nil is ignored.
func (b *Bundle) lacks(part string, err error) {
	if err != nil {
		b.unread = append(b.unread, b.values.Text(part+": "+err.Error()))
	}
}

func (b *Bundle) contents() string {
	var text strings.Builder
	fmt.Fprintf(&text, "A support bundle of Kanon, made at %s.\n\n", b.made.UTC().Format(time.RFC3339))
	if b.checked {
		text.WriteString("It has no Secrets. Their values are shown as " + redact.Hidden + ".\n")
	} else {
		text.WriteString("It has no Secrets, but THEIR VALUES WERE NOT KNOWN: who made it may not list Secrets. Whatever a rule, a status or an\n" +
			"Event quotes of one is in here. Read the files before you pass them on.\n")
	}
	text.WriteString("It has no logs: kubectl -n NAMESPACE logs deployment/kanon shows them.\n\nFiles:\n")
	for _, name := range b.Files() {
		fmt.Fprintf(&text, "  %s\n", name)
	}
	if len(b.unread) > 0 {
		text.WriteString("\nNot read:\n")
		for _, line := range b.unread {
			fmt.Fprintf(&text, "  %s\n", line)
		}
	}
	return text.String()
}

// Write writes the bundle as a compressed tar archive.
func (b *Bundle) Write(w io.Writer) error {
	compressed := gzip.NewWriter(w)
	archive := tar.NewWriter(compressed)
	files := maps.Clone(b.files)
	files["contents.txt"] = []byte(b.contents())
	var err error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		data := files[name]
		header := &tar.Header{Name: path.Join(b.Name, name), Mode: 0o600, Size: int64(len(data)), ModTime: b.made.Truncate(time.Second), Format: tar.FormatPAX}
		if err == nil {
			err = archive.WriteHeader(header)
		}
		if err == nil {
			_, err = archive.Write(data)
		}
	}
	if err = errors.Join(err, archive.Close(), compressed.Close()); err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	return nil
}

// BundleOptions configure CollectBundle.
type BundleOptions struct {
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
	BundleOptions
	*Bundle
}

// CollectBundle reads all parts. It leaves out what cannot be read, and the bundle lists that.
func CollectBundle(ctx context.Context, o BundleOptions) *Bundle {
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

// noteSecrets reads the values of all Secrets, or of those that may be read. It keeps no Secret.
func (c *collector) noteSecrets(ctx context.Context) {
	values, err := SecretValues(ctx, c.Client, c.Namespace)
	maps.Copy(c.values, values)
	c.lacks("values of Secrets, to hide them", err)
	c.checked = err == nil
}

// addEvents adds the Events of all namespaces or, without the right to list those, of Kanon's.
func (c *collector) addEvents(ctx context.Context) {
	const file = "events.txt"
	events, _, err := EventLog{Client: c.Client}.List(ctx)
	if err != nil {
		c.lacks(file, err)
		if events, _, err = (EventLog{Client: c.Client, Namespace: c.Namespace}).List(ctx); err != nil {
			return
		}
	}
	c.addList(file, EventList(events, true, c.Now))
}

// addList adds a list as a table.
func (c *collector) addList(file string, list List) {
	var text strings.Builder
	if err := (&Printer{Out: &text, Format: FormatWide}).Print(list); err != nil {
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
