package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// BusyCPU is the time that all processors have been busy since the machine started.
func BusyCPU() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("read stat of the machine: %w", err)
	}
	return parseBusy(string(text))
}

// parseBusy adds up the busy times in the first line of /proc/stat (see proc_stat(5)): user, nice, system, (idle,
// iowait,) irq, softirq.
func parseBusy(text string) (time.Duration, error) {
	first, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(first)
	if len(fields) < 8 || fields[0] != "cpu" {
		return 0, fmt.Errorf("stat of the machine begins with %q", first)
	}
	var ticks int64
	var errs []error
	for _, i := range []int{1, 2, 3, 6, 7} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		ticks += n
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return 0, fmt.Errorf("stat of the machine begins with %q: %w", first, err)
	}
	return time.Duration(ticks) * tick, nil
}

// Machine describes the machine: processor, number of processors, memory.
func Machine() string {
	parts := []string{processor(), strconv.Itoa(runtime.NumCPU()) + " processors"}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		if size, err := statusBytes(text, "MemTotal"); err == nil {
			parts = append(parts, fmt.Sprintf("%d GiB", (size+1<<29)>>30))
		}
	}
	return strings.Join(parts, ", ")
}

func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range bytes.Lines(text) {
			if key, value, ok := strings.Cut(string(line), ":"); ok && strings.TrimSpace(key) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return runtime.GOARCH
}
