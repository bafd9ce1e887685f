package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"kanon.dev/kanon/cmd/kanonbench/internal/plane"
	"kanon.dev/kanon/cmd/kanonbench/internal/report"
)

// reading is the state of all meters at one time.
type reading struct {
	at time.Time
	plane.Metrics
	engine time.Duration // CPU time of the engine
	server time.Duration // CPU time of the control plane
	ours   time.Duration // CPU time of this program and all its descendants
	busy   time.Duration // busy time of all processors
}

// read reads all meters. An engine that is not running has used nothing.
func (r *runner) read(ctx context.Context) (reading, error) {
	metrics, err := r.plane.Metrics(ctx)
	if err != nil {
		return reading{}, err
	}
	now := reading{at: time.Now(), Metrics: metrics}
	if r.process != nil {
		usage, err := plane.ReadUsage(r.process.PID())
		if err != nil {
			return now, fmt.Errorf("read what %s uses: %w", r.engine.name, err)
		}
		now.engine = usage.CPU
	}
	if now.ours, err = plane.TreeCPU(os.Getpid()); err != nil {
		return now, fmt.Errorf("read what the benchmark uses: %w", err)
	}
	if now.server, err = plane.TreeCPU(r.plane.PID()); err != nil {
		return now, fmt.Errorf("read what the control plane uses: %w", err)
	}
	now.busy, err = plane.BusyCPU()
	return now, err
}

// settle waits until the engine is idle, and then reads all meters.
func (r *runner) settle(ctx context.Context) (reading, error) {
	if _, err := r.process.Settle(ctx); err != nil {
		return reading{}, err
	}
	return r.read(ctx)
}

// between are the values of a phase between two readings. Requests are also given per parent, for n parents.
func between(before, after reading, n int) []report.Value {
	counts := after.Counts.Sub(before.Counts)
	values := []report.Value{
		{Unit: report.CPU, Number: (after.engine - before.engine).Seconds()},
		{Unit: report.ServerCPU, Number: (after.server - before.server).Seconds()},
		{Unit: report.Allocated, Number: after.Allocated - before.Allocated},
		{Unit: report.Strangers, Number: strangers(before, after)},
		{Unit: report.Writes, Number: float64(counts.Writes()) / float64(n)},
		{Unit: report.Reads, Number: float64(counts.Reads()) / float64(n)},
		{Unit: report.AllWrites, Number: float64(counts.Writes())},
		{Unit: report.AllReads, Number: float64(counts.Reads())},
		{Unit: report.Watches, Number: float64(counts.Watches())},
	}
	for _, request := range counts.Sorted() {
		values = append(values, report.Value{
			Unit: report.CountUnit(request.Verb, request.Resource), Number: float64(counts[request]),
		})
	}
	return values
}

// strangers is the average number of processors that other programs kept busy.
func strangers(before, after reading) float64 {
	others := after.busy - before.busy - (after.ours - before.ours)
	return max(0, others.Seconds()/after.at.Sub(before.at).Seconds())
}
