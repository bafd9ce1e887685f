package process

import (
	"context"
	"fmt"
	"time"
)

const (
	// lookEvery is how often a process is looked at, and quietFor how long it must
	// have used no more than one tick of CPU to be at rest.
	lookEvery = 25 * time.Millisecond
	quietFor  = 400 * time.Millisecond
)

// Settle waits until a process is at rest, and returns when it last worked.
func (p *Process) Settle(ctx context.Context) (time.Time, error) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	worked := time.Now() // when its CPU time had last gone up by more than a tick
	var at time.Duration // its CPU time then
	for {
		stat, err := readStat(p.PID())
		if err != nil {
			return worked, err
		}
		now := time.Now()
		if stat.cpu > at+tick {
			worked, at = now, stat.cpu
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
