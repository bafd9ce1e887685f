// Package manager is the process that runs rules: it connects the engine to a cluster, to sources of rules and to a log.
//
//	m, err := manager.New(manager.Options{Config: config, Namespace: "kanon-system", Workers: 16})
//	if err != nil {
//		return err
//	}
//	return m.Run(ctx) // until ctx ends
//
// Run starts nothing before the API server answers: if many parts reported the same outage, its cause would be hard to
// find. The package also has what belongs to the process rather than to the engine: its share of memory (memory.go),
// how it uses Go's runtime (runtime.go), and what it serves over HTTP (serve.go).
package manager
