package explain

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"kanon.dev/kanon/rules/diagnostic"
)

// Prompt reads expressions and prints their values.
type Prompt struct {
	Session *Session
	// Format is json or yaml for the whole result, or empty for the value.
	Format string
	Out    io.Writer
	// Err is for findings, and for the description of a value.
	Err   io.Writer
	Color bool
	// History is the history that the prompt continues. nil: the prompt has only its own lines.
	History *History
}

// ErrFailed is returned if an expression has no value. The reason has been printed.
var ErrFailed = errors.New("an expression has no value")

// Once evaluates one expression.
func (p *Prompt) Once(text string) error {
	result, findings := p.Session.Eval(text)
	if len(findings) > 0 {
		if err := (diagnostic.Printer{Color: p.Color}).Print(p.Err, findings); err != nil {
			return fmt.Errorf("print the findings: %w", err)
		}
	}
	if result != nil {
		if err := result.Write(p.Out, p.Format); err != nil {
			return err
		}
		if p.Format == "" && len(findings) == 0 {
			if _, err := fmt.Fprintln(p.Err, p.dim(result.About())); err != nil {
				return fmt.Errorf("print the type: %w", err)
			}
		}
	}
	if len(findings) > 0 {
		return ErrFailed
	}
	return nil
}

// Lines evaluates the lines of a file. Empty lines and lines that start with # are skipped.
func (p *Prompt) Lines(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	var failed error
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := p.answer(line); err != nil {
			if !errors.Is(err, ErrFailed) {
				return err
			}
			failed = err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read an expression: %w", err)
	}
	return failed
}

// maxLine is the maximum length of a line in bytes. It is longer than the longest expression.
const maxLine = 1 << 20

// answer evaluates a line, or runs the command in it.
func (p *Prompt) answer(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case word == ":help":
		_, err := io.WriteString(p.Err, p.Session.Help(strings.TrimSpace(rest)))
		return err
	case strings.HasPrefix(word, ":"):
		_, err := fmt.Fprintf(p.Err, "there is no command %s; the commands are %s\n", word, strings.Join(commands(), " and "))
		return err
	default:
		return p.Once(line)
	}
}

// Run reads expressions from a terminal until it is closed.
func (p *Prompt) Run(terminal *os.File) error {
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{terminal, p.Out}, "> ")
	if p.History != nil {
		t.History = p.History
	}
	t.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) {
		if key != '\t' {
			return "", 0, false
		}
		return p.complete(t, line, pos)
	}
	for {
		line, err := readLine(t, int(terminal.Fd())) //nolint:gosec // A file descriptor is a small number.
		line = strings.TrimSpace(line)
		switch {
		case errors.Is(err, io.EOF):
			_, err = fmt.Fprintln(p.Out)
			return err
		case err == nil && line == ":quit":
			return nil
		case err != nil:
			return fmt.Errorf("read an expression: %w", err)
		case line == "":
			continue
		}
		if err := p.answer(line); err != nil && !errors.Is(err, ErrFailed) {
			return err
		}
	}
}

// readLine reads a line. The terminal is in raw mode only while reading, so that Ctrl-C can end an evaluation.
func readLine(t *term.Terminal, fd int) (string, error) {
	state, err := term.MakeRaw(fd)
	if err != nil {
		return "", fmt.Errorf("set up the terminal: %w", err)
	}
	defer func() { _ = term.Restore(fd, state) }()
	if width, height, err := term.GetSize(fd); err == nil && width > 0 {
		_ = t.SetSize(width, height) // an error only affects how long lines wrap
	}
	return t.ReadLine()
}

// complete inserts the common prefix of all completions. If there is nothing to insert, it lists them.
func (p *Prompt) complete(t *term.Terminal, line string, pos int) (string, int, bool) {
	from, words := p.Session.Complete(line, pos)
	if len(words) == 0 {
		return line, pos, true
	}
	common := words[0]
	for _, w := range words {
		for !strings.HasPrefix(w, common) {
			common = common[:len(common)-1]
		}
	}
	if len(common) > pos-from {
		return line[:from] + common + line[pos:], from + len(common), true
	}
	if len(words) > 1 {
		more := ""
		if len(words) > maxListed {
			words, more = words[:maxListed], "  …"
		}
		_, _ = io.WriteString(t, strings.Join(words, "  ")+more+"\n") // not essential
	}
	return line, pos, true
}

// maxListed is the maximum number of completions listed.
const maxListed = 60

func (p *Prompt) dim(text string) string {
	if !p.Color {
		return text
	}
	return "\x1b[2m" + text + "\x1b[0m"
}
