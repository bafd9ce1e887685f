package syntax

import (
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParsePath(t *testing.T) {
	t.Parallel()
	field := func(names ...string) IgnorePath {
		var path IgnorePath
		for _, name := range names {
			path = append(path, IgnoreStep{Field: name})
		}
		return path
	}
	item := func(keys ...string) IgnoreStep {
		step := IgnoreStep{Keys: map[string]string{}}
		for i := 0; i < len(keys); i += 2 {
			step.Keys[keys[i]] = keys[i+1]
		}
		return step
	}
	tests := map[string]struct {
		want IgnorePath
		text string // as the path writes itself; empty: as it was
	}{
		`spec.replicas`:               {want: field("spec", "replicas")},
		`metadata.annotations[a.b/c]`: {want: field("metadata", "annotations", "a.b/c")},
		`metadata.labels[app]`:        {want: field("metadata", "labels", "app"), text: "metadata.labels.app"},
		`data["0"]`:                   {want: field("data", "0"), text: "data.0"},
		`data["a=\"]"].x`:             {want: field("data", `a="]`, "x")},
		`spec.$ref.x-y`:               {want: field("spec", "$ref", "x-y")},
		`a[name=web].image`:           {want: append(append(field("a"), item("name", "web")), field("image")...)},
		`a[name=a.b:c/d]`:             {want: append(field("a"), item("name", "a.b:c/d"))},
		`a[name="x,]"]`:               {want: append(field("a"), item("name", "x,]"))},
		`a[name=""]`:                  {want: append(field("a"), item("name", ""))},
		`a[protocol=TCP,port=80]`:     {want: append(field("a"), item("port", "80", "protocol", "TCP")), text: `a[port="80",protocol=TCP]`},
	}
	for text, tt := range tests {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			got, err := ParseIgnore(text)
			if err != nil {
				t.Fatalf("at %d: %s", err.Offset, err.Message)
			}
			if diff := cmp.Diff(tt.want, got.Steps); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if tt.text == "" {
				tt.text = text
			}
			if got.Steps.String() != tt.text {
				t.Errorf("it writes itself as %s, want %s", got.Steps, tt.text)
			}
		})
	}
}

// What is read can be written, and is the same when it is read again; no text makes
// the parser panic.
func FuzzParsePath(f *testing.F) {
	for _, text := range []string{
		"", "spec.replicas", "a[b=c,d=\"e\"].f", `a["\u0000"]`, "a[", "a[=", "a[b", "a[b=", `a["`, "a]", "[", ".", "a[b=c]d", "ä[ö=ü]",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" || !utf8.ValidString(text) {
			return // the decoder does not let it through
		}
		path, failed := ParseIgnore(text)
		if failed != nil {
			if failed.Offset < 0 || failed.Offset > len(text) || failed.Message == "" {
				t.Fatalf("%q: offset %d: %q", text, failed.Offset, failed.Message)
			}
			return
		}
		again, failed := ParseIgnore(path.Steps.String())
		if failed != nil {
			t.Fatalf("%q writes itself as %s, at %d: %s", text, path.Steps, failed.Offset, failed.Message)
		}
		if diff := cmp.Diff(path.Steps, again.Steps); diff != "" {
			t.Errorf("%q writes itself as %s (-read +again)\n%s", text, path.Steps, diff)
		}
	})
}
