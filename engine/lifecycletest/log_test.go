package lifecycletest_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// engineLog keeps what an engine logged, to be shown of a sequence that failed.
type engineLog struct {
	mu      sync.Mutex
	entries []logged
}

type logged struct {
	at     time.Time
	text   string
	values []any
}

// clear forgets everything.
func (l *engineLog) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

// about lists what was said of the objects of a sequence.
func (l *engineLog) about(n names) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
	for _, entry := range l.entries {
		text := fmt.Sprintf("%s%s %v", entry.at.Format(clock), entry.text, entry.values)
		if strings.Contains(text, n.home+"/") || strings.Contains(text, "/"+n.prefix) {
			found = append(found, text)
		}
	}
	return found
}

// logSink is a logr.LogSink that writes into an engineLog.
type logSink struct {
	log    *engineLog
	values []any
}

func (s logSink) Init(logr.RuntimeInfo)  {}
func (s logSink) Enabled(level int) bool { return level <= 4 }

func (s logSink) Info(_ int, text string, values ...any) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.log.entries = append(s.log.entries, logged{time.Now(), text, append(slices.Clip(values), s.values...)})
}

func (s logSink) Error(err error, text string, values ...any) {
	s.Info(0, fmt.Sprintf("%s: %v", text, err), values...)
}

func (s logSink) WithValues(values ...any) logr.LogSink {
	return logSink{s.log, append(slices.Clip(s.values), values...)}
}

func (s logSink) WithName(string) logr.LogSink { return s }
