package terminal

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

// Is reports whether a person reads what is written to a stream, or writes what is read from it.
func Is(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// HasColors reports whether colours are wanted: on a terminal that has them, unless NO_COLOR (no-color.org) is set.
func HasColors(w io.Writer) bool {
	return Is(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// patience is how long a command may ask a cluster without a word.
const patience = time.Second

// SayIfSlow writes a line after a while, so that nobody takes a slow cluster for a program that hangs. The function that it
// returns ends that: nothing is written after it has returned.
func SayIfSlow(w io.Writer, line string) (done func()) {
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

// Size is the size of a terminal in characters; zeros where the output is none.
func Size(w io.Writer) (width, height int) {
	file, ok := w.(*os.File)
	if !ok || !Is(w) {
		return 0, 0
	}
	width, height, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}

// Say writes a line, or a part of one, for people.
func Say(w io.Writer, format string, args ...any) error {
	if _, err := fmt.Fprintf(w, format, args...); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// Warn writes warnings.
func Warn(w io.Writer, warnings []string) error {
	for _, warning := range warnings {
		if err := Say(w, "Warning: %s\n", warning); err != nil {
			return err
		}
	}
	return nil
}

// ErrNobody is that there is nobody to ask.
var ErrNobody = errors.New("standard input is no terminal, so that nobody can be asked")

// Ask asks the person at in for a yes. The answer is false also where ctx ends before there is one.
func Ask(ctx context.Context, in io.Reader, out io.Writer, question string) (yes bool, err error) {
	file, ok := in.(*os.File)
	if !ok || !Is(file) {
		return false, ErrNobody
	}
	if err := Say(out, "%s", question); err != nil {
		return false, err
	}
	answers := make(chan string, 1)
	go func() { // a read of a terminal cannot be ended; the program ends before
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
