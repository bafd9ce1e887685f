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

// tick is the unit of CPU time in /proc. USER_HZ is 100 on every architecture that Go supports.
const tick = 10 * time.Millisecond

// Usage is the resource usage of a process.
type Usage struct {
	// CPU is the user and system time since the start, in steps of 10 ms.
	CPU time.Duration
	// Resident is the memory in RAM, and Peak its maximum, in bytes.
	Resident, Peak int64
}

// Read reads the resource usage of a process.
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

// TreeCPU is the CPU time of a process and all its living descendants.
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
			continue // the process has ended, for which there are several errors
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

// stat is the part of /proc/PID/stat that is used.
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

// parseStat parses /proc/PID/stat (see proc_pid_stat(5)). The name of the program, in parentheses, may contain spaces
// and parentheses.
func parseStat(line string) (stat, error) {
	end := strings.LastIndexByte(line, ')')
	if end < 0 {
		return stat{}, fmt.Errorf("stat %q has no name", line)
	}
	// After the name come state, parent, ..., and as 12th and 13th fields utime and stime.
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

// statusBytes parses a size in /proc/PID/status, which is in kB.
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
