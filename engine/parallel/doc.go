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
// golang.org/x/sync/errgroup would start a goroutine for each call, and most calls turn out to need no request.
package parallel
