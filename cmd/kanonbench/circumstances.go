package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"kanon.dev/kanon/cmd/kanonbench/internal/plane"
	"kanon.dev/kanon/cmd/kanonbench/internal/report"
)

// circumstances are the circumstances that are known before anything starts.
func circumstances(ctx context.Context, kanon string) ([]report.Circumstance, error) {
	version, err := exec.CommandContext(ctx, kanon, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("ask for Kanon's version: %w", err)
	}
	build, err := buildOf(kanon)
	if err != nil {
		return nil, err
	}
	return []report.Circumstance{
		{Key: report.KeyDate, Value: time.Now().UTC().Format(time.DateOnly)},
		{Key: report.KeyMachine, Value: plane.Machine()},
		{Key: report.KeyGo, Value: runtime.Version()},
		{Key: report.KeyKanon, Value: strings.TrimSpace(strings.TrimPrefix(string(version), "kanon ")) + ", build " + build},
		{Key: report.KeyOperator, Value: dependency("sigs.k8s.io/controller-runtime")},
	}, nil
}

// buildOf identifies a build, as several builds can report the same version.
func buildOf(path string) (string, error) {
	program, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read Kanon: %w", err)
	}
	sum := sha256.Sum256(program)
	return hex.EncodeToString(sum[:4]), nil
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
