// Package version is the version of the program:
//
//	kanon v0.1.0
//	kanon devel 5f2c9e1 (modified)
package version

import "runtime/debug"

// release is the version that the linker was given (-X kanon.dev/kanon/cmd/kanon/internal/version.release=v0.1.0), as by the
// Dockerfile; empty in other builds.
//
//nolint:gochecknoglobals // The linker sets it.
var release string

// String is the release; without one the module's version, or the commit that the program
// was built from, as the Go toolchain recorded it.
func String() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version, commit, dirty := info.Main.Version, "", ""
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			commit = setting.Value
		case "vcs.modified":
			if setting.Value == "true" {
				dirty = " (modified)"
			}
		}
	}
	if version != "" && version != "(devel)" {
		return version
	}
	if commit == "" {
		return "devel"
	}
	return "devel " + commit + dirty
}
