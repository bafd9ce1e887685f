package explain_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"kanon.dev/kanon/author/explain"
)

func TestHistory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state", "kanon", "eval_history")
	h, err := explain.OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"1 + 1", "1 + 1", " 'a secret'", "", "parent.metadata.name"} {
		h.Add(line)
	}
	if err := h.Err(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || string(data) != "1 + 1\nparent.metadata.name\n" {
		t.Errorf("%q %v", data, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	again, err := explain.OpenHistory(path)
	if err != nil || again.Len() != 2 || again.At(0) != "parent.metadata.name" || again.At(1) != "1 + 1" {
		t.Fatalf("%+v %v", again, err)
	}
	for i := range 2000 {
		again.Add(fmt.Sprint(i))
	}
	if again, err = explain.OpenHistory(path); err != nil || again.Len() != 1000 || again.At(0) != "1999" || again.At(999) != "1000" {
		t.Errorf("%+v %v", again, err)
	}
}

// Without a path no file is written, and a path that cannot be written is no reason to stop.
func TestHistoryWithoutFile(t *testing.T) {
	t.Parallel()
	h, err := explain.OpenHistory("")
	if err != nil {
		t.Fatal(err)
	}
	if h.Add("1"); h.Err() != nil || h.Len() != 1 {
		t.Errorf("%v", h.Err())
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := explain.OpenHistory(filepath.Join(file, "below")); err == nil {
		t.Error("a path below a file can be read")
	}
}

func TestHistoryPath(t *testing.T) {
	for state, want := range map[string]string{
		"/var/state": "/var/state/kanon/eval_history", "": "/home/ann/.local/state/kanon/eval_history", "relative": "/home/ann/.local/state/kanon/eval_history",
	} {
		t.Setenv("XDG_STATE_HOME", state)
		t.Setenv("HOME", "/home/ann")
		if got := explain.HistoryPath(); got != want {
			t.Errorf("%q: %s, want %s", state, got, want)
		}
	}
}
