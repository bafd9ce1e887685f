package manager

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
)

// Verbosity is how much is logged. It may be changed at any time.
type Verbosity struct{ level slog.LevelVar }

// NewVerbosity is a verbosity: 0 for what begins and ends, 2 for writes too, 4 for decisions too.
func NewVerbosity(v int) *Verbosity {
	verbosity := &Verbosity{}
	verbosity.Set(v)
	return verbosity
}

// Set changes it.
func (v *Verbosity) Set(to int) { v.level.Set(slog.Level(-to)) } // logr's verbosity counts up, slog's level down

// ServeHTTP shows the verbosity, and sets it to what the body of a PUT says, as /debug/flags/v of Kubernetes' components does.
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
	_, _ = fmt.Fprintln(w, -int(v.level.Level())) // a client that has gone needs no answer
}

// maxVerbosity is more than is used.
const maxVerbosity = 10

// NewLogger writes to w what is at most of the verbosity, in the format "text" or "json", one line for each message.
func NewLogger(w io.Writer, format string, verbosity *Verbosity) logr.Logger {
	options := &slog.HandlerOptions{Level: &verbosity.level, ReplaceAttr: nameLevel}
	if format == "json" {
		return logr.FromSlogHandler(slog.NewJSONHandler(w, options))
	}
	return logr.FromSlogHandler(slog.NewTextHandler(w, options))
}

// nameLevel calls every level below INFO plainly DEBUG, where slog would call
// them DEBUG+3 to DEBUG.
func nameLevel(groups []string, attr slog.Attr) slog.Attr {
	if level, ok := attr.Value.Any().(slog.Level); ok && len(groups) == 0 && attr.Key == slog.LevelKey && level < slog.LevelInfo {
		attr.Value = slog.StringValue(slog.LevelDebug.String())
	}
	return attr
}
