// Package leadership lets one of several Kanons write, and the others stand by.
//
//	elector, err := leadership.New(leadership.Options{Config: config, Namespace: "kanon-system", Name: "kanon", Identity: identity})
//	...
//	config.Wrap(elector.Gate)               // who does not lead writes nothing
//	go func() { ended <- elector.Run(ctx) }()
//	<-elector.Leading()                     // closed once this one leads
//
// It is client-go's leader election by a Lease, and three things beside it.
//
// Gate is the one place that keeps a process from writing which does not lead. It asks when the Lease was renewed last, and not
// what the election has noticed: a process that was stopped for longer than its Lease and goes on sends no write, however soon.
//
// A Kanon that stands by watches the Lease. It tries to lead when the one that leads gives the Lease back, and when the Lease has
// expired, while client-go alone would ask every few seconds.
//
// Whoever led once and leads no more ends: what it remembers may be wrong by then. It does not lead again.
package leadership
