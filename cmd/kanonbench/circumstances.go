package main

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"kanon.dev/kanon/cmd/kanonbench/internal/process"
	"kanon.dev/kanon/cmd/kanonbench/internal/report"
)

// circumstances are those that are known before anything is started.
func circumstances(ctx context.Context, kanon string) ([]report.Circumstance, error) {
	version, err := exec.CommandContext(ctx, kanon, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("ask for Kanon's version: %w", err)
	}
	return []report.Circumstance{
		{Key: report.KeyDate, Value: time.Now().UTC().Format(time.DateOnly)},
		{Key: report.KeyMachine, Value: process.Machine()},
		{Key: report.KeyGo, Value: runtime.Version()},
		{Key: report.KeyKanon, Value: strings.TrimSpace(strings.TrimPrefix(string(version), "kanon "))},
		{Key: report.KeyOperator, Value: dependency("sigs.k8s.io/controller-runtime")},
	}, nil
}

// dependency is the version of a module that this program is built with.
func dependency(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == path {
				return module.Version
			}
		}
	}
	return "unknown"
}
