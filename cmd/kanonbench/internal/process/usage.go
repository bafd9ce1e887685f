package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU time in /proc: USER_HZ is 100 on every architecture
// that Go runs on.
const tick = 10 * time.Millisecond

// Usage is what a process uses.
type Usage struct {
	// CPU is the time in user and kernel mode since it started, in steps of
	// 10 ms.
	CPU time.Duration
	// Resident is the memory that it has in RAM, and Peak the most that it had,
	// in bytes.
	Resident, Peak int64
}

// Read is what a process uses now.
func Read(pid int) (Usage, error) {
	stat, err := readStat(pid)
	if err != nil {
		return Usage{}, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Usage{}, fmt.Errorf("read status: %w", err)
	}
	u := Usage{CPU: stat.cpu}
	if u.Resident, err = statusBytes(status, "VmRSS"); err != nil {
		return Usage{}, err
	}
	u.Peak, err = statusBytes(status, "VmHWM")
	return u, err
}

// TreeCPU is the CPU time of a process and all its descendants that live.
func TreeCPU(root int) (time.Duration, error) {
	files, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, fmt.Errorf("list processes: %w", err)
	}
	stats := make(map[int]stat, len(files))
	for _, file := range files {
		pid, err := strconv.Atoi(filepath.Base(file))
		if err != nil {
			continue
		}
		s, err := readStat(pid)
		if err != nil {
			continue // it ended meanwhile, which has several errors
		}
		stats[pid] = s
	}
	var sum time.Duration
	for pid := range stats {
		if descends(stats, pid, root) {
			sum += stats[pid].cpu
		}
	}
	return sum, nil
}

func descends(stats map[int]stat, pid, root int) bool {
	for range len(stats) {
		if pid == root {
			return true
		}
		parent, known := stats[pid]
		if !known {
			return false
		}
		pid = parent.parent
	}
	return false
}

// stat is what /proc/PID/stat tells.
type stat struct {
	parent int
	cpu    time.Duration
}

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, fmt.Errorf("read stat: %w", err)
	}
	return parseStat(string(text))
}

// parseStat reads a line of /proc/PID/stat (see proc_pid_stat(5)). The name of
// the program, in parentheses, may hold spaces and parentheses itself.
func parseStat(line string) (stat, error) {
	end := strings.LastIndexByte(line, ')')
	if end < 0 {
		return stat{}, fmt.Errorf("stat %q has no name", line)
	}
	// After the name: state, parent, ..., and as 12th and 13th utime and stime.
	fields := strings.Fields(line[end+1:])
	if len(fields) < 13 {
		return stat{}, fmt.Errorf("stat %q is too short", line)
	}
	parent, err1 := strconv.Atoi(fields[1])
	user, err2 := strconv.ParseInt(fields[11], 10, 64)
	system, err3 := strconv.ParseInt(fields[12], 10, 64)
	if err := errors.Join(err1, err2, err3); err != nil {
		return stat{}, fmt.Errorf("stat %q: %w", line, err)
	}
	return stat{parent: parent, cpu: time.Duration(user+system) * tick}, nil
}

// statusBytes reads a size from /proc/PID/status, where it stands in kB.
func statusBytes(status []byte, key string) (int64, error) {
	for line := range bytes.Lines(status) {
		value, ok := bytes.CutPrefix(line, []byte(key+":"))
		if !ok {
			continue
		}
		number, isKilo := strings.CutSuffix(strings.TrimSpace(string(value)), " kB")
		kilo, err := strconv.ParseInt(number, 10, 64)
		if err != nil || !isKilo {
			return 0, fmt.Errorf("%s %q is not a number of kB", key, value)
		}
		return kilo << 10, nil
	}
	return 0, fmt.Errorf("status has no %s", key)
}
