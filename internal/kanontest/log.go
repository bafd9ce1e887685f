package kanontest

import (
	"bytes"
	"sync"
)

// log keeps what is written to it, and notifies readers.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer  // guarded by mu
	more chan struct{} // closed and replaced at each write; guarded by mu
}

func newLog() *log { return &log{more: make(chan struct{})} }

// Write implements io.Writer.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.more)
	l.more = make(chan struct{})
	return l.text.Write(p)
}

// read returns everything written so far, and a channel that is closed at the next write.
func (l *log) read() (text string, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String(), l.more
}

func (l *log) String() string {
	text, _ := l.read()
	return text
}
