// Package ruletest runs the tests of rules without a cluster. Tests are in files beside the rule, with names that end
// in _test.yaml.
//
//	apiVersion: kanon.dev/v1alpha1
//	kind: RuleTest
//	rule: rule.yaml
//	parent: parent.yaml
//	cases:
//	  - name: scales
//	    parent: {spec: {replicas: 3}}       # laid over parent.yaml
//	    expect:
//	      children:
//	        deployment: {spec: {replicas: 3}}
//	    steps:
//	      - name: is ready when its Deployment is
//	        ready: [deployment]
//	        expect:
//	          conditions: {Ready: "True"}
//
// file.go and decode.go decode a file with positions. Each case runs in a [memory.Cluster]: a step changes the
// cluster (ready.go), settles it (state.go), and compares the result with the expectations (expect.go, compare.go,
// assertion.go), for each parent of the case (parents.go). A failure has the position of the expectation in the test
// file. coverage.go finds parts of a rule that no case exercises, report.go prints results as text and JUnit XML, and
// update.go rewrites the expected outputs in the file.
package ruletest
