// Package parallel makes calls at the same time while they wait for the API server:
//
//	parallel.Do(len(children), 4, func(i int, waits func()) {
//		if isUpToDate(children[i]) {
//			return              // costs no goroutine
//		}
//		waits()                 // the next child begins
//		send(children[i])
//	})
//
// Most calls turn out to need no request, so a goroutine for each, as golang.org/x/sync/errgroup starts one, would be in
// vain.
package parallel
