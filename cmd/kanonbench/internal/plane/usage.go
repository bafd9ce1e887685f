package plane

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/procfs"
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

// ReadUsage reads the resource usage of a process.
func ReadUsage(pid int) (Usage, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return Usage{}, fmt.Errorf("find process: %w", err)
	}
	stat, err := process.Stat()
	if err != nil {
		return Usage{}, fmt.Errorf("read stat: %w", err)
	}
	status, err := process.NewStatus()
	if err != nil {
		return Usage{}, fmt.Errorf("read status: %w", err)
	}
	return Usage{CPU: seconds(stat.CPUTime()), Resident: int64(status.VmRSS), Peak: int64(status.VmHWM)}, nil
}

// TreeCPU is the CPU time of a process and all its living descendants.
func TreeCPU(root int) (time.Duration, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return 0, fmt.Errorf("list processes: %w", err)
	}
	stats := make(map[int]procfs.ProcStat, len(all))
	for _, process := range all {
		if stat, err := process.Stat(); err == nil { // otherwise the process has ended, for which there are several errors
			stats[process.PID] = stat
		}
	}
	var sum time.Duration
	for pid, stat := range stats {
		if descends(stats, pid, root) {
			sum += seconds(stat.CPUTime())
		}
	}
	return sum, nil
}

func descends(stats map[int]procfs.ProcStat, pid, root int) bool {
	for range len(stats) {
		if pid == root {
			return true
		}
		stat, known := stats[pid]
		if !known {
			return false
		}
		pid = stat.PPID
	}
	return false
}

// BusyCPU is the time that all processors have been busy since the machine started.
func BusyCPU() (time.Duration, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, fmt.Errorf("read stat of the machine: %w", err)
	}
	stat, err := fs.Stat()
	if err != nil {
		return 0, fmt.Errorf("read stat of the machine: %w", err)
	}
	all := stat.CPUTotal
	return seconds(all.User + all.Nice + all.System + all.IRQ + all.SoftIRQ), nil
}

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(tick)
}

// Machine describes the machine: processor, number of processors, memory.
func Machine() string {
	parts := []string{runtime.GOARCH, fmt.Sprintf("%d processors", runtime.NumCPU())}
	fs, err := procfs.NewFS(procfs.DefaultMountPoint)
	if err != nil {
		return strings.Join(parts, ", ")
	}
	if processors, err := fs.CPUInfo(); err == nil && len(processors) > 0 && processors[0].ModelName != "" {
		parts[0] = processors[0].ModelName
	}
	if memory, err := fs.Meminfo(); err == nil && memory.MemTotalBytes != nil {
		parts = append(parts, fmt.Sprintf("%d GiB", (*memory.MemTotalBytes+1<<29)>>30))
	}
	return strings.Join(parts, ", ")
}
