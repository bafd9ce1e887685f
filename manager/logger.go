package manager

import (
	"io"
	"log/slog"

	"github.com/go-logr/logr"
)

// NewLogger writes to w what is at most of the given verbosity, in the format
// "text" or "json", one line for each message.
func NewLogger(w io.Writer, format string, verbosity int) logr.Logger {
	options := &slog.HandlerOptions{
		Level:       slog.Level(-verbosity), // logr's verbosity counts up, slog's level down
		ReplaceAttr: nameLevel,
	}
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
