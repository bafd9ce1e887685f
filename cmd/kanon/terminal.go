package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// isTerminal reports whether a person reads what is written to a stream, or writes what is read from it.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// hasColors reports whether colours are wanted: on a terminal that has them, unless NO_COLOR (no-color.org) is set.
func hasColors(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// patience is how long a command may ask a cluster without a word.
const patience = time.Second

// sayIfSlow writes a line after a while, so that nobody takes a slow cluster for a program that hangs. The function that it
// returns ends that: nothing is written after it has returned.
func sayIfSlow(w io.Writer, line string) (done func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-end:
		case <-time.After(patience):
			_, _ = fmt.Fprintln(w, line) // it is only progress
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// sizeOf is the size of a terminal in characters; zeros where the output is none.
func sizeOf(w io.Writer) (width, height int) {
	file, ok := w.(*os.File)
	if !ok || !isTerminal(w) {
		return 0, 0
	}
	width, height, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}
