package supportbundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"kanon.dev/kanon/redact"
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

// contentsFile describes the bundle.
const contentsFile = "contents.txt"

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
	write := func(name string, data []byte) error {
		header := &tar.Header{Name: path.Join(b.Name, name), Mode: 0o600, Size: int64(len(data)), ModTime: b.made.Truncate(time.Second), Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err := io.Copy(archive, bytes.NewReader(data))
		return err
	}
	err := write(contentsFile, []byte(b.contents()))
	for _, name := range b.Files() {
		if err == nil {
			err = write(name, b.files[name])
		}
	}
	if err == nil {
		err = archive.Close()
	}
	if err == nil {
		err = compressed.Close()
	}
	if err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	return nil
}
