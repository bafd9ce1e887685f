package explain

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxHistory is the number of lines of a history that a prompt reads.
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
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return h, nil
	case err != nil:
		return nil, fmt.Errorf("read the history: %w", err)
	}
	h.lines = strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
	h.lines = h.lines[max(0, len(h.lines)-maxHistory):]
	return h, nil
}

// Add implements term.History.
func (h *History) Add(line string) {
	if strings.TrimSpace(line) == "" || strings.HasPrefix(line, " ") || h.Len() > 0 && h.At(0) == line {
		return
	}
	h.lines = append(h.lines, line)
	if h.path != "" {
		h.err = h.write(line)
	}
}

// Len implements term.History.
func (h *History) Len() int { return len(h.lines) }

// At implements term.History: 0 is the newest line.
func (h *History) At(i int) string { return h.lines[len(h.lines)-1-i] }

// Err is the error of the last write to the file.
func (h *History) Err() error { return h.err }

// write appends a line to the file.
func (h *History) write(line string) error {
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	file, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	_, err = file.WriteString(line + "\n")
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	return nil
}
