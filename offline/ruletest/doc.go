// Package ruletest runs the tests that stand beside a rule, in files whose names end in _test.yaml, without a cluster.
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
// A file is decoded with positions (file.go, decode.go). Each case is a [simulation.Simulation]: a step changes it, settles it,
// and compares what came out with what is expected (expect.go, compare.go, assertion.go). A failure names the line in the test
// file. Coverage (coverage.go) says what of a rule no case has taken, report.go writes results for people and as JUnit XML, and
// update.go rewrites the wanted outputs in the file.
package ruletest
