// Package supportbundle collects in one file, which may be passed on, what is needed to find out why Kanon does what it
// does.
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
// The bundle contains no Secret, and no values of Secrets: those of all readable Secrets are hidden wherever they occur
// (package redact). It contains no logs, which are not in the API server.
//
// A part that cannot be read, for instance without the right to it, is left out and named. Nothing is written to the
// cluster.
package supportbundle
