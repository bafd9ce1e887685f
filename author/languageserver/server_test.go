package languageserver

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/sourcegraph/jsonrpc2"
	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "rewrite the wanted answers in testdata")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is an editor.
type client struct {
	*testing.T
	conn  *jsonrpc2.Conn
	dir   string
	texts map[string]string
	// published has what the server finds.
	published chan publishDiagnosticsParams
	ended     chan error
	out       strings.Builder
}

func newClient(t *testing.T, o Options) *client {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	c := &client{T: t, dir: t.TempDir(), texts: map[string]string{}, published: make(chan publishDiagnosticsParams, 1000), ended: make(chan error, 1)}
	go func() {
		c.ended <- Serve(t.Context(), toServer, fromServer, o)
		_ = fromServer.Close()
	}()
	handler := jsonrpc2.HandlerWithError(func(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
		var p publishDiagnosticsParams
		if req.Method == "textDocument/publishDiagnostics" {
			err := json.Unmarshal(*req.Params, &p)
			c.published <- p
			return nil, err
		}
		return nil, nil
	})
	c.conn = jsonrpc2.NewConn(t.Context(), jsonrpc2.NewBufferedStream(&pipe{toClient, fromClient}, jsonrpc2.VSCodeObjectCodec{}), handler)
	t.Cleanup(func() {
		_ = fromClient.Close()
		_ = c.conn.Close()
		_ = toClient.Close()
	})
	return c
}

func (c *client) call(method string, params, result any) {
	c.Helper()
	if err := c.conn.Call(c.Context(), method, params, result); err != nil {
		if failed := (*jsonrpc2.Error)(nil); errors.As(err, &failed) && failed.Data != nil {
			c.Logf("%s", strings.ReplaceAll(string(*failed.Data), `\n`, "\n"))
		}
		c.Fatalf("%s: %v", method, err)
	}
}

func (c *client) notify(method string, params any) {
	c.Helper()
	if err := c.conn.Notify(c.Context(), method, params); err != nil {
		c.Fatalf("%s: %v", method, err)
	}
}

func (c *client) uri(name string) string { return "file://" + filepath.Join(c.dir, name) }

func (c *client) initialize() {
	c.Helper()
	var result any
	c.call("initialize", map[string]any{"rootUri": "file://" + c.dir, "capabilities": map[string]any{}}, &result)
	c.notify("initialized", map[string]any{})
}

// quit ends the server as an editor does.
func (c *client) quit() error {
	c.Helper()
	c.call("shutdown", nil, nil)
	c.notify("exit", nil)
	return <-c.ended
}

// awaitFindings are those of a version of a text.
func (c *client) awaitFindings(uri string, version int) []problem {
	c.Helper()
	for {
		select {
		case p := <-c.published:
			if p.URI == uri && p.Version == version {
				return p.Diagnostics
			}
		case <-c.Context().Done():
			c.Fatal("no findings come")
		}
	}
}

// at is the position behind a piece of a text, which @ can divide: the position is there then.
func (c *client) at(name, piece string) position {
	c.Helper()
	before, after, _ := strings.Cut(strings.ReplaceAll(piece, `\n`, "\n"), "@")
	i := strings.Index(c.texts[name], before+after)
	if i < 0 {
		c.Fatalf("%s has no %q", name, before+after)
	}
	i += len(before)
	line := strings.Count(c.texts[name][:i], "\n")
	return newText("", 0, c.texts[name]).at(line, i-strings.LastIndex(c.texts[name][:i], "\n")-1)
}

func (c *client) say(format string, args ...any) { fmt.Fprintf(&c.out, format+"\n", args...) }

func show(r textRange) string {
	return fmt.Sprintf("%d:%d-%d:%d", r.Start.Line+1, r.Start.Character+1, r.End.Line+1, r.End.Character+1)
}

// do does a line of a script.
func (c *client) do(line string, files map[string][]byte) {
	c.Helper()
	words := strings.SplitN(line, " ", 3)
	words = append(words, "", "")
	command, name, argument := words[0], words[1], words[2]
	uri := c.uri(name)
	document := map[string]any{"textDocument": map[string]any{"uri": uri}}
	there := func() map[string]any {
		document["position"] = c.at(name, argument)
		return document
	}
	c.say("> %s", line)
	switch command {
	case "open", "edit":
		version, source := 1, name
		if command == "edit" {
			n, err := strconv.Atoi(strings.Fields(argument)[0])
			if err != nil {
				c.Fatal(err)
			}
			version, source = n, strings.Fields(argument)[1]
		}
		c.texts[name] = string(files[source])
		doc := map[string]any{"uri": uri, "version": version, "text": c.texts[name], "languageId": "yaml"}
		if command == "open" {
			c.notify("textDocument/didOpen", map[string]any{"textDocument": doc})
		} else {
			c.notify("textDocument/didChange", map[string]any{"textDocument": doc, "contentChanges": []any{map[string]any{"text": c.texts[name]}}})
		}
		for _, d := range c.awaitFindings(uri, version) {
			c.say("%s %d %s %s", show(d.Range), d.Severity, d.Code, strings.ReplaceAll(d.Message, "\n", "; "))
			for _, r := range d.RelatedInformation {
				c.say("  %s %s", show(r.Location.Range), r.Message)
			}
		}
	case "complete":
		var found []completionItem
		c.call("textDocument/completion", there(), &found)
		for i, item := range found {
			if i == 12 {
				c.say("… %d more", len(found)-i)
				break
			}
			c.say("%s", strings.TrimRight(fmt.Sprintf("%-20q %s", item.TextEdit.NewText, item.Detail), " "))
		}
	case "hover":
		var found *hover
		c.call("textDocument/hover", there(), &found)
		if found != nil {
			c.say("%s %s", show(found.Range), found.Contents.Value)
		}
	case "definition":
		var found *location
		c.call("textDocument/definition", there(), &found)
		if found != nil {
			c.say("%s %s", filepath.Base(found.URI), show(found.Range))
		}
	case "symbols":
		var found []documentSymbol
		c.call("textDocument/documentSymbol", document, &found)
		for _, rule := range found {
			c.say("%s %s %s", rule.Name, show(rule.Range), rule.Detail)
			for _, s := range rule.Children {
				c.say("  %s %s %s, %s", s.Name, show(s.SelectionRange), show(s.Range), s.Detail)
			}
		}
	case "format":
		var edits []textEdit
		document["options"] = map[string]any{"tabSize": 2, "insertSpaces": true}
		c.call("textDocument/formatting", document, &edits)
		for _, e := range edits {
			c.say("%s\n%s", show(e.Range), e.NewText)
		}
	case "fix":
		var found []codeAction
		where := c.at(name, argument)
		document["range"] = textRange{where, where}
		document["context"] = map[string]any{"diagnostics": []any{}}
		c.call("textDocument/codeAction", document, &found)
		for _, a := range found {
			c.say("%s", a.Title)
			for _, e := range a.Edit.Changes[uri] {
				c.say("  %s %q", show(e.Range), e.NewText)
			}
		}
	default:
		c.Fatalf("there is no command %q", command)
	}
}

// TestScripts plays an editor. A script opens and edits texts, which gives their findings, and asks about places in them: "complete
// rule.yaml upda" is at the end of the first "upda", and "hover rule.yaml chil@dren" within a word.
func TestScripts(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			c := newClient(t, Options{})
			files := map[string][]byte{}
			var kept []txtar.File
			for _, f := range archive.Files {
				files[f.Name] = f.Data
				if f.Name != "want" {
					kept = append(kept, f)
				}
				if strings.HasSuffix(f.Name, ".yaml") {
					if err := os.WriteFile(filepath.Join(c.dir, f.Name), f.Data, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			c.initialize()
			for line := range strings.Lines(string(files["script"])) {
				c.do(strings.TrimRight(line, "\n"), files)
			}
			if err := c.quit(); err != nil {
				t.Error(err)
			}
			got := txtar.Format(&txtar.Archive{Comment: archive.Comment, Files: append(kept, txtar.File{Name: "want", Data: []byte(c.out.String())})})
			if *update {
				if err := os.WriteFile(path, got, 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(archive)), string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestProtocol holds what an editor may do wrong.
func TestProtocol(t *testing.T) {
	t.Parallel()
	c := newClient(t, Options{Version: "v1"})
	var result struct {
		ServerInfo   struct{ Version string }
		Capabilities struct {
			HoverProvider    bool
			TextDocumentSync struct{ Change int }
		}
	}
	c.call("initialize", map[string]any{}, &result)
	if result.ServerInfo.Version != "v1" || !result.Capabilities.HoverProvider || result.Capabilities.TextDocumentSync.Change != 1 {
		t.Errorf("%+v", result)
	}
	for method, want := range map[string]struct {
		params any
		code   int64
	}{
		"textDocument/rename":     {map[string]any{}, jsonrpc2.CodeMethodNotFound},
		"textDocument/hover":      {map[string]any{"textDocument": map[string]any{"uri": "file:///none.yaml"}}, jsonrpc2.CodeInvalidParams},
		"textDocument/completion": {map[string]any{"textDocument": 1}, jsonrpc2.CodeInvalidParams},
		"initialize":              {[]int{1}, jsonrpc2.CodeInvalidParams},
	} {
		err := c.conn.Call(t.Context(), method, want.params, nil)
		if answer := (*jsonrpc2.Error)(nil); !errors.As(err, &answer) || answer.Code != want.code {
			t.Errorf("%s: %v", method, err)
		}
	}
	c.notify("$/setTrace", map[string]any{"value": "off"})
	c.notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": "file:///none.yaml"}})
	if err := c.quit(); err != nil {
		t.Error(err)
	}
}

// TestEveryPlace asks everything at every place of texts that are cut off there: nothing fails.
func TestEveryPlace(t *testing.T) {
	t.Parallel()
	whole := "apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: r}\nspec:\n  parent: {apiVersion: v1, kind: Namespace}\n" +
		"  children:\n  - id: a\n    when: >-\n      ${has(parent.metadata.labels)\n      && true}\n    template: {apiVersion: v1, kind: ConfigMap, data: {\"ä😀\": \"${children.a.data['x']}\"}}\n" +
		"  patches: [{id: b, template: {metadata: }}]\n"
	c := newClient(t, Options{Pause: time.Hour})
	c.initialize()
	uri := c.uri("rule.yaml")
	doc := map[string]any{"uri": uri, "version": 0, "text": ""}
	c.notify("textDocument/didOpen", map[string]any{"textDocument": doc})
	for end := 0; end < len(whole); end += 3 {
		text := strings.ToValidUTF8(whole[:end], "")
		doc["version"] = end + 1
		c.notify("textDocument/didChange", map[string]any{"textDocument": doc, "contentChanges": []any{map[string]any{"text": text}}})
		there := newText(uri, 0, text)
		params := map[string]any{"textDocument": doc, "position": there.whole().End}
		for _, method := range []string{"completion", "hover", "definition", "documentSymbol", "formatting"} {
			c.call("textDocument/"+method, params, nil)
		}
	}
	if err := c.quit(); err != nil {
		t.Error(err)
	}
}

func TestNewestVersionCounts(t *testing.T) {
	t.Parallel()
	c := newClient(t, Options{Pause: time.Hour})
	c.initialize()
	uri := c.uri("rule.yaml")
	doc := map[string]any{"uri": uri, "version": 1, "text": "kind: Rule\n"}
	c.notify("textDocument/didOpen", map[string]any{"textDocument": doc})
	if found := c.awaitFindings(uri, 1); len(found) == 0 {
		t.Error("a rule without anything has no findings")
	}
	doc["version"] = 2
	c.notify("textDocument/didChange", map[string]any{"textDocument": doc, "contentChanges": []any{map[string]any{"text": "a: 1\n"}}})
	c.notify("textDocument/didSave", map[string]any{"textDocument": doc}) // which does not wait
	if found := c.awaitFindings(uri, 2); len(found) != 0 {
		t.Errorf("another document has the findings %v", found)
	}
	c.notify("textDocument/didClose", map[string]any{"textDocument": doc})
	if found := c.awaitFindings(uri, 0); len(found) != 0 {
		t.Errorf("a text that is closed has the findings %v", found)
	}
	if err := c.quit(); err != nil {
		t.Error(err)
	}
}

// TestEnd holds that a server ends with its input, and says that the editor did not say goodbye.
func TestEnd(t *testing.T) {
	t.Parallel()
	if err := Serve(t.Context(), strings.NewReader(""), io.Discard, Options{}); !errors.Is(err, ErrNoShutdown) {
		t.Errorf("at the end of its input: %v", err)
	}
}
