package conditions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/go-logr/logr"

	"kanon.dev/kanon/engine/apply/mark"
)

// Names replaces names of objects and keys of fields in what people are told: those that a rule computes from Secrets. A
// nil Names replaces nothing. It is safe for concurrent use.
type Names struct {
	// namespace is the parent's, which is no secret.
	namespace string

	mu    sync.Mutex
	known map[string]string
	// keys are the names in known that are keys of fields.
	keys map[string]bool
}

// NewNames returns Names for a parent in a namespace; empty for a cluster-scoped parent.
func NewNames(namespace string) *Names {
	return &Names{namespace: namespace, known: make(map[string]string), keys: make(map[string]bool)}
}

// Note has an object appear as something else from now on, such as "child d[2]".
func (n *Names) Note(object mark.Ref, as string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known[object.String()], n.known[object.Name] = as, as
	if object.Namespace == "" {
		return
	}
	n.known[object.Namespace+"/"+object.Name] = as
	if object.Namespace != n.namespace {
		n.known[object.Namespace] = "the namespace of " + as
	}
}

// shortestKey is the number of bytes from which a key counts as secret. A shorter one would be found in every other
// word of a message.
const shortestKey = 4

// NoteKeys has keys of fields appear as something else from now on.
func (n *Names) NoteKeys(keys []string, as string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, key := range keys {
		if len(key) >= shortestKey && n.known[key] == "" {
			n.known[key], n.keys[key] = as, true
		}
	}
}

// Text returns a text without the names.
func (n *Names) Text(text string) string {
	if n == nil {
		return text
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var names []string
	for name := range n.known {
		if strings.Contains(text, name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return n.hide(text, names)
}

// hide replaces names, the longest of them first. It does not look into what it has put in place of a name.
func (n *Names) hide(text string, names []string) string {
	for i, name := range names {
		for from := 0; ; {
			at := strings.Index(text[from:], name)
			if at < 0 {
				break
			}
			at += from
			if end := at + len(name); isWord(text, at, end) && (!n.keys[name] || isKey(text, at)) {
				return n.hide(text[:at], names[i:]) + n.known[name] + n.hide(text[end:], names[i:])
			}
			from = at + 1
		}
	}
	return text
}

// isKey reports whether what begins in a text at from may be a key of a field: .data.key, data[key], "key", key=value.
func isKey(text string, from int) bool {
	return from > 0 && strings.IndexByte(`.["'/,`, text[from-1]) >= 0
}

// isWord reports whether a part of a text is neither preceded nor followed by a letter or a digit.
func isWord(text string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, _ := utf8.DecodeRuneInString(text[to:])
	return !slices.ContainsFunc([]rune{before, after}, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// Error returns an error without the names in its text.
func (n *Names) Error(err error) error {
	if n == nil || err == nil {
		return err
	}
	before := err.Error()
	if text := n.Text(before); text != before {
		return &redactedError{err: err, text: text}
	}
	return err
}

// Log returns a logger that does not log the names.
func (n *Names) Log(log logr.Logger) logr.Logger {
	if n == nil || log.GetSink() == nil {
		return log
	}
	return log.WithSink(discreetSink{LogSink: log.GetSink(), names: n})
}

// discreetSink is a sink that leaves out names.
type discreetSink struct {
	logr.LogSink

	names *Names
}

// Info is part of logr.LogSink.
func (s discreetSink) Info(level int, message string, keysAndValues ...any) {
	s.LogSink.Info(level, s.names.Text(message), s.values(keysAndValues)...)
}

// Error is part of logr.LogSink.
func (s discreetSink) Error(err error, message string, keysAndValues ...any) {
	s.LogSink.Error(s.names.Error(err), s.names.Text(message), s.values(keysAndValues)...)
}

// WithValues is part of logr.LogSink.
func (s discreetSink) WithValues(keysAndValues ...any) logr.LogSink {
	s.LogSink = s.LogSink.WithValues(s.values(keysAndValues)...)
	return s
}

// WithName is part of logr.LogSink.
func (s discreetSink) WithName(name string) logr.LogSink {
	s.LogSink = s.LogSink.WithName(name)
	return s
}

func (s discreetSink) values(keysAndValues []any) []any {
	out := slices.Clone(keysAndValues)
	for i := 1; i < len(out); i += 2 {
		if text := fmt.Sprint(out[i]); s.names.Text(text) != text {
			out[i] = s.names.Text(text)
		}
	}
	return out
}
