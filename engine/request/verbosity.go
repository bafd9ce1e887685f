package request

import (
	"strconv"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AnnotationVerbosity raises the log level for one parent, or for one rule and all of its parents:
//
//	kanon.dev/verbosity: "4"
//
// Its value is that of the flag -v. It never lowers the level.
const AnnotationVerbosity = "kanon.dev/verbosity"

// maxVerbosity is the highest level. Above it, client-go logs whole objects, which not everybody who may annotate one
// may read.
const maxVerbosity = 4

// Verbosity parses a value of AnnotationVerbosity. It returns 0 for anything but a positive number.
func Verbosity(value string) int {
	level, err := strconv.Atoi(value)
	if err != nil {
		return 0
	}
	return min(max(level, 0), maxVerbosity)
}

// VerbosityOf returns the verbosity that a parent asks for.
func VerbosityOf(parent metav1.Object) int {
	return Verbosity(parent.GetAnnotations()[AnnotationVerbosity])
}

// LogAt returns a logger that logs what log does, and everything up to a verbosity.
func LogAt(log logr.Logger, verbosity int) logr.Logger {
	sink := log.GetSink()
	if verbosity <= 0 || sink == nil || sink.Enabled(verbosity) {
		return log
	}
	return log.WithSink(verboseSink{LogSink: sink, verbosity: verbosity})
}

// verboseSink is a sink with a higher level than its own. A logger only asks its sink whether a level is enabled; the
// sink writes everything that it gets.
type verboseSink struct {
	logr.LogSink

	verbosity int
}

// Enabled is part of logr.LogSink.
func (s verboseSink) Enabled(level int) bool { return level <= s.verbosity || s.LogSink.Enabled(level) }

// WithValues is part of logr.LogSink.
func (s verboseSink) WithValues(keysAndValues ...any) logr.LogSink {
	s.LogSink = s.LogSink.WithValues(keysAndValues...)
	return s
}

// WithName is part of logr.LogSink.
func (s verboseSink) WithName(name string) logr.LogSink {
	s.LogSink = s.LogSink.WithName(name)
	return s
}
