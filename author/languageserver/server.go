package languageserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"kanon.dev/kanon/author/layout"
	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/rules"
)

// Options configure a server. The zero value is usable.
type Options struct {
	// Schemas have definitions of kinds or OpenAPI documents, in addition to those in the folders of the editor.
	Schemas []manifests.File
	// Version is the program's version.
	Version string
	// Pause is how long a text must be unchanged before it is checked. 0: it is checked immediately.
	Pause time.Duration
}

// ErrNoShutdown is returned if the session ends without a shutdown request.
var ErrNoShutdown = errors.New("the editor went away without a shutdown request")

// Serve handles the requests of an editor until it sends exit, the input ends, or ctx is done.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{
		options: o, texts: map[string]*text{}, exited: make(chan struct{}), pending: map[string]context.CancelFunc{},
	}
	stream := jsonrpc2.NewBufferedStream(&pipe{in, out}, jsonrpc2.VSCodeObjectCodec{})
	conn := jsonrpc2.NewConn(ctx, stream, jsonrpc2.HandlerWithError(s.handle).SuppressErrClosed(), jsonrpc2.SetLogger(quiet{}))
	select {
	case <-ctx.Done():
	case <-s.exited:
	case <-conn.DisconnectNotify():
	}
	cancel()
	_ = conn.Close() // it may be closed already
	s.checks.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.shutdown {
		return ErrNoShutdown
	}
	return nil
}

// pipe combines a reader and a writer.
type pipe struct {
	io.Reader
	io.Writer
}

// Close does nothing: the streams belong to the caller.
func (*pipe) Close() error { return nil }

// quiet discards messages about errors of the editor, which get an error response anyway.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

type server struct {
	options Options
	exited  chan struct{}
	// checks are the background checks.
	checks sync.WaitGroup

	mu       sync.Mutex // guards all below
	shutdown bool
	texts    map[string]*text
	// folders are those of the editor.
	folders []string
	// pending cancels the background check of a text.
	pending map[string]context.CancelFunc
}

// handle handles a request. Requests arrive one after the other.
func (s *server) handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) (result any, err error) {
	defer func() {
		if r := recover(); r != nil { // the server keeps running
			failed := &jsonrpc2.Error{Code: jsonrpc2.CodeInternalError, Message: fmt.Sprint(r)}
			failed.SetError(string(debug.Stack())) // for bug reports: editors log responses
			err = failed
		}
	}()
	switch req.Method {
	case "initialize":
		return s.initialize(req)
	case "shutdown":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.shutdown = true
		return nil, nil
	case "exit":
		close(s.exited)
		return nil, nil
	}
	p, err := paramsOf[documentParams](req)
	if err != nil {
		return nil, err
	}
	if handled := s.sync(ctx, conn, req.Method, &p); handled {
		return nil, nil
	}
	answer := s.answers()[req.Method]
	if answer == nil {
		if req.Notif {
			return nil, nil
		}
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "there is no method " + req.Method}
	}
	t := s.text(p.TextDocument.URI)
	if t == nil {
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: p.TextDocument.URI + " is not open"}
	}
	return answer(ctx, t, &p)
}

// paramsOf decodes the parameters of a request.
func paramsOf[T any](req *jsonrpc2.Request) (p T, err error) {
	if req.Params != nil {
		if err := json.Unmarshal(*req.Params, &p); err != nil {
			return p, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()}
		}
	}
	return p, nil
}

// answers has the handlers of methods for a text.
func (s *server) answers() map[string]func(context.Context, *text, *documentParams) (any, error) {
	return map[string]func(context.Context, *text, *documentParams) (any, error){
		"textDocument/completion":     s.completion,
		"textDocument/hover":          s.hover,
		"textDocument/definition":     s.definition,
		"textDocument/documentSymbol": func(_ context.Context, t *text, _ *documentParams) (any, error) { return symbols(t), nil },
		"textDocument/formatting":     func(_ context.Context, t *text, _ *documentParams) (any, error) { return formatting(t), nil },
		"textDocument/codeAction": func(ctx context.Context, t *text, p *documentParams) (any, error) {
			checked, _, err := s.check(ctx, t, rules.Options{})
			if err != nil {
				return nil, err
			}
			return actions(t, checked.Findings, p.Range), nil
		},
	}
}

func (s *server) initialize(req *jsonrpc2.Request) (any, error) {
	p, err := paramsOf[initializeParams](req)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, folder := range p.WorkspaceFolders {
		s.folders = append(s.folders, pathOf(folder.URI))
	}
	if len(p.WorkspaceFolders) == 0 && p.RootURI != "" {
		s.folders = []string{pathOf(p.RootURI)}
	}
	return map[string]any{
		"serverInfo": map[string]string{"name": "kanon", "version": s.options.Version},
		"capabilities": map[string]any{
			"textDocumentSync":   map[string]any{"openClose": true, "change": 1, "save": true}, // a change has the whole text
			"completionProvider": map[string]any{"triggerCharacters": []string{".", "?", "{", " "}},
			"hoverProvider":      true, "definitionProvider": true, "documentSymbolProvider": true, "documentFormattingProvider": true,
			"codeActionProvider": map[string]any{"codeActionKinds": []string{"quickfix"}},
		},
	}, nil
}

// sync handles the notifications that open, change, save and close texts. It returns false for other methods.
func (s *server) sync(ctx context.Context, conn *jsonrpc2.Conn, method string, p *documentParams) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	doc := p.TextDocument
	switch method {
	case "textDocument/didOpen":
		s.texts[doc.URI] = newText(doc.URI, doc.Version, doc.Text)
		s.publishLocked(ctx, conn, doc.URI, 0)
	case "textDocument/didChange":
		if n := len(p.ContentChanges); n > 0 && s.texts[doc.URI] != nil {
			s.texts[doc.URI] = newText(doc.URI, doc.Version, p.ContentChanges[n-1].Text)
			s.publishLocked(ctx, conn, doc.URI, s.options.Pause)
		}
	case "textDocument/didSave", "workspace/didChangeWatchedFiles": // a definition may have changed
		for uri := range s.texts {
			s.publishLocked(ctx, conn, uri, 0)
		}
	case "textDocument/didClose":
		if cancel := s.pending[doc.URI]; cancel != nil {
			cancel()
		}
		delete(s.texts, doc.URI)
		delete(s.pending, doc.URI)
		_ = conn.Notify(ctx, "textDocument/publishDiagnostics", publishDiagnosticsParams{URI: doc.URI, Diagnostics: []problem{}})
	default:
		return false
	}
	return true
}

// publishLocked checks a text after a pause, unless the text changes meanwhile, and publishes the findings.
func (s *server) publishLocked(ctx context.Context, conn *jsonrpc2.Conn, uri string, pause time.Duration) {
	if cancel := s.pending[uri]; cancel != nil {
		cancel()
	}
	ctx, cancel := context.WithCancel(ctx)
	s.pending[uri] = cancel
	t := s.texts[uri]
	s.checks.Go(func() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		checked, _, err := s.check(ctx, t, rules.Options{})
		if err != nil {
			return // --schemas is broken, which the command reported at its start
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.texts[uri] == t && ctx.Err() == nil {
			_ = conn.Notify(ctx, "textDocument/publishDiagnostics", publishDiagnosticsParams{
				URI: uri, Version: t.version, Diagnostics: diagnosticsOf(t, checked.Findings),
			}) // it fails if the editor is gone
		}
	})
}

// check compiles the rules of a text as kanon validate does.
func (s *server) check(ctx context.Context, t *text, o rules.Options) (*manifests.Checked, *manifests.Kinds, error) {
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		return nil, nil, err
	}
	path := pathOf(t.uri)
	s.mu.Lock()
	schemas := append(s.definitionsLocked(path), s.options.Schemas...)
	s.mu.Unlock()
	own := manifests.File{Name: path, Data: []byte(t.content())}
	schemas = append(schemas, own) // its definitions take precedence over those of other files
	o.Namespace = engine.DefaultNamespace
	checked, err := manifests.Check(ctx, []manifests.File{own}, schemas, kinds, o)
	if err != nil {
		return nil, nil, err
	}
	return checked, kinds, nil
}

func (s *server) text(uri string) *text {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.texts[uri]
}

// formatting answers textDocument/formatting. A text that does not parse has no edits; its findings are published
// anyway.
func formatting(t *text) []textEdit {
	before := t.content()
	laid, wrong := layout.Text(pathOf(t.uri), []byte(before))
	if len(wrong) > 0 || string(laid) == before {
		return []textEdit{}
	}
	return []textEdit{{Range: t.whole(), NewText: string(laid)}}
}

// Limits for files in a folder, which could be a home directory.
const (
	maxFiles    = 2000
	maxFileSize = 4 << 20
)

// definitionsLocked lists the files with definitions of kinds: first those in the folders of the editor, then those in
// the directory of a text and below. Later definitions take precedence. For files that are open in the editor, their
// text is used.
func (s *server) definitionsLocked(path string) []manifests.File {
	dirs := slices.Clone(s.folders)
	if filepath.IsAbs(path) {
		dirs = append(dirs, filepath.Dir(path))
	}
	open := make(map[string][]byte, len(s.texts))
	for uri, text := range s.texts {
		open[pathOf(uri)] = []byte(text.content())
	}
	var all []manifests.File
	seen := map[string]bool{path: true}
	for _, dir := range slices.Backward(dirs) {
		paths, err := manifests.FilesOf(dir, ".yaml", ".yml")
		if err != nil {
			continue // it does not exist yet, or any more
		}
		for _, path := range paths[:min(len(paths), maxFiles)] {
			if seen[path] {
				continue
			}
			seen[path] = true
			data, isOpen := open[path]
			if !isOpen {
				data = read(path)
			}
			if bytes.Contains(data, []byte("CustomResourceDefinition")) {
				all = append(all, manifests.File{Name: path, Data: data})
			}
		}
	}
	return all
}

// read returns the content of a file; nil if it cannot be read, or is too large for a manifest.
func read(path string) []byte {
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxFileSize {
		return nil
	}
	data, _ := os.ReadFile(path)
	return data
}
