package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) //nolint:gosec // A file descriptor is a small number.
}

// HasColors reports whether to use colours: on a terminal that supports them, unless NO_COLOR (no-color.org) is set.
func HasColors(w io.Writer) bool {
	return IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// sayAfter is how long a command may wait for a cluster before it says so.
const sayAfter = time.Second

// SayIfSlow writes a line unless done is called within a second, so that a slow cluster is not mistaken for a program
// that hangs. Nothing is written after done has returned.
func SayIfSlow(w io.Writer, line string) (done func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-end:
		case <-time.After(sayAfter):
			_, _ = fmt.Fprintln(w, line) // progress is not essential
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// Size is the size of a terminal in characters; zero if w is not a terminal.
func Size(w io.Writer) (width, height int) {
	if file, ok := w.(*os.File); ok {
		width, height, _ = term.GetSize(int(file.Fd())) //nolint:gosec // A file descriptor is a small number.
	}
	return width, height
}

// Say writes text for people.
func Say(w io.Writer, format string, args ...any) error {
	if _, err := fmt.Fprintf(w, format, args...); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// Warn writes warnings, one per line.
func Warn(w io.Writer, warnings []string) error {
	for _, warning := range warnings {
		if err := Say(w, "Warning: %s\n", warning); err != nil {
			return err
		}
	}
	return nil
}

// ErrNobody is returned by Ask if the input is not a terminal.
var ErrNobody = errors.New("standard input is no terminal, so that nobody can be asked")

// Ask asks a yes-or-no question. It also returns false if ctx ends before the answer.
func Ask(ctx context.Context, in io.Reader, out io.Writer, question string) (yes bool, err error) {
	file, ok := in.(*os.File)
	if !ok || !IsTerminal(file) {
		return false, ErrNobody
	}
	if err := Say(out, "%s", question); err != nil {
		return false, err
	}
	answers := make(chan string, 1)
	go func() { // a read from a terminal cannot be cancelled; it ends with the program
		line, _ := bufio.NewReader(io.LimitReader(file, 1<<10)).ReadString('\n')
		answers <- line
	}()
	select {
	case <-ctx.Done():
		return false, nil
	case line := <-answers:
		answer := strings.ToLower(strings.TrimSpace(line))
		return answer == "y" || answer == "yes", nil
	}
}
