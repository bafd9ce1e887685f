package controlplanetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// observed is what the system tells of one process.
type observed struct {
	pid, parent int
	state       string
	command     string
}

// children returns the processes that a process has started.
func children(t *testing.T, parent int) []observed {
	t.Helper()
	var found []observed
	for _, process := range processes(t) {
		if process.parent == parent {
			found = append(found, process)
		}
	}
	return found
}

// waitEnded polls, because a process that is not one's own child gives no other
// sign of its end.
func waitEnded(t *testing.T, pid int) {
	t.Helper()
	limit := time.After(waitLimit)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for isRunning(t, pid) {
		select {
		case <-limit:
			t.Fatalf("process %d still runs", pid)
		case <-again.C:
		}
	}
}

// isRunning is false for a zombie: it has ended, and is its new parent's to clear
// away.
func isRunning(t *testing.T, pid int) bool {
	t.Helper()
	for _, process := range processes(t) {
		if process.pid == pid {
			return process.state != "Z"
		}
	}
	return false
}

// processes lists all processes, from /proc where there is one, because ps is
// not on every machine.
func processes(t *testing.T) []observed {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		return processesOfPS(t)
	}
	var found []observed
	for _, file := range files {
		stat, statErr := os.ReadFile(file)
		line, lineErr := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if statErr != nil || lineErr != nil {
			continue // it ended in the meantime
		}
		process := observed{command: strings.ReplaceAll(string(line), "\x00", " ")}
		// pid (name) state parent …, where the name may hold anything.
		number, _, _ := strings.Cut(string(stat), " ")
		rest := stat[strings.LastIndex(string(stat), ")")+1:]
		if _, err := fmt.Sscan(number+" "+string(rest), &process.pid, &process.state, &process.parent); err != nil {
			t.Fatalf("read %q: %v", stat, err)
		}
		found = append(found, process)
	}
	return found
}

func processesOfPS(t *testing.T) []observed {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "ps", "-A", "-o", "pid=,ppid=,stat=,args=").Output()
	if err != nil {
		t.Fatalf("ps: %v", err)
	}
	var found []observed
	for line := range strings.Lines(string(output)) {
		var process observed
		if _, err := fmt.Sscan(line, &process.pid, &process.parent, &process.state); err != nil {
			t.Fatalf("read %q: %v", line, err)
		}
		process.state = process.state[:1]
		process.command = line
		found = append(found, process)
	}
	return found
}
