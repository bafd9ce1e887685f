package manager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-logr/logr"

	"kanon.dev/kanon/engine/conditions"
)

// Verbosity is the verbosity of the log. It may change at any time.
type Verbosity struct{ level slog.LevelVar }

// NewVerbosity makes a verbosity: 0 logs lifecycle, 2 also writes, 4 also decisions.
func NewVerbosity(v int) *Verbosity {
	verbosity := &Verbosity{}
	verbosity.Set(v)
	return verbosity
}

// Set changes the verbosity.
func (v *Verbosity) Set(to int) { v.level.Set(slog.Level(-to)) } // logr's verbosity counts up, slog's level down

// ServeHTTP shows the verbosity. A PUT sets it to the number in its body, like /debug/flags/v of Kubernetes'
// components.
func (v *Verbosity) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPut {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<10))
		to, parseErr := strconv.Atoi(strings.TrimSpace(string(body)))
		if err != nil || parseErr != nil || to < 0 || to > maxVerbosity {
			http.Error(w, fmt.Sprintf("send a number from 0 to %d, not %q", maxVerbosity, body), http.StatusBadRequest)
			return
		}
		v.Set(to)
		logr.FromContextOrDiscard(r.Context()).Info("The verbosity of this log was changed", "to", to)
	}
	_, _ = fmt.Fprintln(w, -int(v.level.Level())) // the client may have closed the connection
}

// maxVerbosity is more than any log line uses.
const maxVerbosity = 10

// NewLogger logs to w up to the verbosity, in the format "text" or "json", one line for each message.
func NewLogger(w io.Writer, format string, verbosity *Verbosity) logr.Logger {
	options := &slog.HandlerOptions{Level: &verbosity.level, ReplaceAttr: shown}
	if format == "json" {
		return logr.FromSlogHandler(uncancelled{slog.NewJSONHandler(w, options)})
	}
	return logr.FromSlogHandler(uncancelled{slog.NewTextHandler(w, options)})
}

// uncancelled logs an error that says that a call was cancelled as a decision. Kanon cancels its calls when it stops, and
// client-go logs some of them as errors.
type uncancelled struct{ slog.Handler }

// Handle is part of slog.Handler.
func (h uncancelled) Handle(ctx context.Context, record slog.Record) error {
	cancelled := false
	record.Attrs(func(attr slog.Attr) bool {
		err, ok := attr.Value.Any().(error)
		cancelled = ok && errors.Is(err, context.Canceled)
		return !cancelled
	})
	if cancelled && record.Level >= slog.LevelError {
		if record.Level = slog.LevelDebug; !h.Enabled(ctx, record.Level) {
			return nil
		}
	}
	return h.Handler.Handle(ctx, record) //nolint:wrapcheck // It only passes records on.
}

// WithAttrs is part of slog.Handler.
func (h uncancelled) WithAttrs(attrs []slog.Attr) slog.Handler {
	return uncancelled{h.Handler.WithAttrs(attrs)}
}

// WithGroup is part of slog.Handler.
func (h uncancelled) WithGroup(name string) slog.Handler {
	return uncancelled{h.Handler.WithGroup(name)}
}

// maxLogged bounds each value of a line, in bytes: an error may quote an object.
const maxLogged = 4 << 10

// shown names every level below INFO DEBUG, which slog would name DEBUG+3 to DEBUG, and cuts long texts and errors.
func shown(groups []string, attr slog.Attr) slog.Attr {
	switch value := attr.Value.Any().(type) {
	case slog.Level:
		if len(groups) == 0 && attr.Key == slog.LevelKey && value < slog.LevelInfo {
			attr.Value = slog.StringValue(slog.LevelDebug.String())
		}
	case string:
		attr.Value = slog.StringValue(conditions.Cut(value, maxLogged))
	case error:
		attr.Value = slog.StringValue(conditions.Cut(value.Error(), maxLogged))
	}
	return attr
}
