// Package leadership elects one of several Kanons to write, while the others stand by.
//
//	elector, err := leadership.New(leadership.Options{Config: config, Namespace: "kanon-system", Name: "kanon", Identity: identity})
//	...
//	config.Wrap(elector.Gate) // a process that does not lead writes nothing
//	go func() { ended <- elector.Run(ctx) }()
//	<-elector.Leading() // closed once this process leads
//
// It is client-go's leader election by a Lease, with three additions.
//
// Gate alone keeps a process that does not lead from writing. It checks when the Lease was last renewed, rather than
// what the election has noticed. So a process that was paused for longer than its Lease sends no write after it
// resumes.
//
// A standby watches the Lease. It tries to lead when the leader releases the Lease, and when the Lease has expired.
// client-go alone would try every few seconds.
//
// A process that led once and lost the lead ends, because what it remembers may be outdated. It does not lead again.
package leadership
