package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"kanon.dev/kanon/cmd/kanonbench/internal/plane"
	"kanon.dev/kanon/cmd/kanonbench/internal/world"
)

// site is where one engine is measured: a control plane, and the watches on it.
type site struct {
	plane   *plane.Plane
	world   *world.World
	log     *os.File
	unwatch []func() error // end the watches
}

// openSite starts a control plane with its files in a directory, defines that many kinds of parents, and watches them.
// The caller must close it.
func openSite(ctx context.Context, binary, dir string, kinds int) (*site, error) {
	log, err := os.OpenFile(filepath.Join(dir, "controlplane.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("make log: %w", err)
	}
	s := &site{log: log}
	if s.plane, err = plane.Start(ctx, plane.Options{Binary: binary, Dir: dir, Log: log}); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	if s.world, err = world.New(s.plane.Config, plane.Namespace); err == nil {
		err = s.define(ctx, kinds)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// define defines the kinds of parents, and watches them.
func (s *site) define(ctx context.Context, kinds int) error {
	if err := s.plane.Define(ctx, kinds); err != nil {
		return err
	}
	for i := range kinds {
		watch := s.world.WatchAnother
		if i == 0 {
			watch = s.world.Watch
		}
		unwatch, err := watch(ctx)
		if err != nil {
			return err
		}
		s.unwatch = append(s.unwatch, unwatch)
	}
	return nil
}

// close ends the watches and the control plane.
func (s *site) close() (err error) {
	for _, unwatch := range s.unwatch {
		err = errors.Join(err, unwatch())
	}
	return errors.Join(err, s.plane.Stop(), s.log.Close())
}
