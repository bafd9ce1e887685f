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

// maxHistory is the maximum number of lines of a history.
const maxHistory = 1000

// History is the history of prompts, in a file that only its owner can read. It contains the typed lines but no values,
// so no values of Secrets. As in shells, lines that start with a blank are not kept.
//
// It implements term.History.
type History struct {
	path string
	// lines are in order, the newest last.
	lines []string
	// err is the error of the last write.
	err error
}

// HistoryPath is the default path of the history, in the state directory of the XDG Base Directory Specification; empty
// if there is none.
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

// OpenHistory reads the history from a file, which need not exist. With an empty path, the history is kept in memory
// only.
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

// Err is the error of the last write to the file.
func (h *History) Err() error { return h.err }

// write replaces the file atomically, so that concurrent prompts do not mix their lines.
func (h *History) write() error {
	if h.path == "" {
		return nil
	}
	dir := filepath.Dir(h.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	next, err := os.CreateTemp(dir, ".eval_history") // only its owner can read it
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
