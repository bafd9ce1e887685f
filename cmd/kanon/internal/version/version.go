// Package version has the version of the program:
//
//	kanon v0.1.0
//	kanon devel 5f2c9e1 (modified)
package version

import "runtime/debug"

// release is the version that the linker sets (-X kanon.dev/kanon/cmd/kanon/internal/version.release=v0.1.0), for
// example in the Dockerfile. It is empty in other builds.
//
//nolint:gochecknoglobals // The linker sets it.
var release string

// String is the release. Without one, it is the module's version, or the commit that the Go toolchain recorded.
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
