// Package supportbundle collects what somebody needs to find out why Kanon does what it does, in one file that may be passed on.
//
//	bundle := supportbundle.Collect(ctx, supportbundle.Options{Config: config, Client: client, Namespace: "kanon-system", Now: time.Now()})
//	err := bundle.Write(file)                 // a tar archive, compressed
//	for _, line := range bundle.Unread() {    // such as "events.txt: list the Events: events is forbidden: …"
//		...
//	}
//
// The archive has one directory:
//
//	contents.txt     what is in the bundle, and what could not be read
//	kanon.yaml       versions, the Deployment, its Pods, the Lease
//	rules.txt        the rules and how they fare, as kanon get rules has them
//	rules/           the texts of rules, with what Kanon reports on them
//	findings/        what the compiler finds in each rule, against the kinds of this cluster
//	parents/         the parents of each rule that are not ready
//	children/        the children of each rule that are not ready
//	records/         what Kanon remembers of each rule
//	events.txt       what Kanon reported
//	metrics/         the metrics of each address that is named, profiles/ its heap and goroutines
//
// No Secret is in it, nor any value of one: all Secrets that can be read are, and their values are hidden wherever they stand
// (package redact). Logs are not in it, because they are somewhere else.
//
// A part that cannot be read, such as for want of a right, is left out and named. Nothing is written to the cluster.
package supportbundle
