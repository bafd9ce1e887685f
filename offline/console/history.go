package console

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxHistory is how many lines a history has.
const maxHistory = 1000

// History is what was typed at prompts, in a file that only its owner can read. It has the lines and no values, so nothing that is read
// from a Secret comes into it. As in shells, a line that begins with a blank is not kept.
//
// It implements term.History.
type History struct {
	path string
	// lines are the newest last.
	lines []string
	// err is why the file could not be written last.
	err error
}

// HistoryPath is where the history is by default, in the state directory of the XDG Base Directory Specification; empty if there is
// none.
func HistoryPath() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "kanon", "eval_history")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state", "kanon", "eval_history")
}

// OpenHistory reads the history in a file, which may not exist yet. An empty path is a history that no file has.
func OpenHistory(path string) (*History, error) {
	h := &History{path: path}
	if path == "" {
		return h, nil
	}
	file, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return h, nil
	case err != nil:
		return nil, fmt.Errorf("read the history: %w", err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		h.lines = append(h.lines, lines.Text())
	}
	h.shorten()
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	return h, nil
}

func (h *History) shorten() { h.lines = slices.Clone(h.lines[max(0, len(h.lines)-maxHistory):]) }

// Add implements term.History.
func (h *History) Add(line string) {
	if strings.TrimSpace(line) == "" || strings.HasPrefix(line, " ") || h.Len() > 0 && h.At(0) == line {
		return
	}
	h.lines = append(h.lines, line)
	h.shorten()
	h.err = h.write()
}

// Len implements term.History.
func (h *History) Len() int { return len(h.lines) }

// At implements term.History: 0 is the newest line.
func (h *History) At(i int) string { return h.lines[len(h.lines)-1-i] }

// Err says why the newest line is not in the file.
func (h *History) Err() error { return h.err }

// write replaces the file, so that two prompts do not mix their lines.
func (h *History) write() error {
	if h.path == "" {
		return nil
	}
	dir := filepath.Dir(h.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	next, err := os.CreateTemp(dir, ".eval_history") // readable for its owner only
	if err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	_, err = next.WriteString(strings.Join(h.lines, "\n") + "\n")
	if err = errors.Join(err, next.Close()); err == nil {
		err = os.Rename(next.Name(), h.path)
	}
	if err != nil {
		_ = os.Remove(next.Name())
		return fmt.Errorf("write the history: %w", err)
	}
	return nil
}
