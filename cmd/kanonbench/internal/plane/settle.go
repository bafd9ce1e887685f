package plane

import (
	"context"
	"fmt"
	"time"
)

const (
	// lookEvery is the polling interval of Settle. A process is idle if it has used at most one tick of CPU time in
	// quietFor.
	lookEvery = 25 * time.Millisecond
	quietFor  = 400 * time.Millisecond
)

// Settle waits until the process is idle, and returns when it last worked.
func (p *Process) Settle(ctx context.Context) (time.Time, error) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	worked := time.Now() // when CPU time last increased by more than a tick
	var at time.Duration // the CPU time then
	for {
		usage, err := ReadUsage(p.PID())
		if err != nil {
			return worked, err
		}
		now := time.Now()
		if usage.CPU > at+tick {
			worked, at = now, usage.CPU
		}
		if now.Sub(worked) >= quietFor {
			return worked, nil
		}
		select {
		case <-ticker.C:
		case <-p.Done():
			return worked, p.Err()
		case <-ctx.Done():
			return worked, fmt.Errorf("it does not come to rest: %w", context.Cause(ctx))
		}
	}
}
