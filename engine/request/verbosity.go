package request

import (
	"strconv"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AnnotationVerbosity has more logged about one parent, or about one rule and all of its parents, than the log has of others:
//
//	kanon.dev/verbosity: "4"
//
// Its value is what -v takes. It never has less logged.
const AnnotationVerbosity = "kanon.dev/verbosity"

// maxVerbosity is the most that the engine logs. client-go logs whole objects above that, which is not for whoever may annotate one.
const maxVerbosity = 4

// Verbosity is the number in a value of AnnotationVerbosity: 0 for what is no number, or a negative one.
func Verbosity(value string) int {
	level, err := strconv.Atoi(value)
	if err != nil {
		return 0
	}
	return min(max(level, 0), maxVerbosity)
}

// VerbosityOf is the verbosity that a parent asks for.
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

// verboseSink is a sink that takes more than it would by itself. A sink is only asked by the logger whether a level is enabled, and
// writes what it gets.
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
