// Package rulefiles reads rules from files for a command. It has the flags, the evaluation limits, and prints findings
// in the rules on standard error.
//
//	checked, kinds, err := rulefiles.Read(cmd, args, schemas, rules.Options{Namespace: namespace, Limits: limits})
//	if err != nil {
//		return err // the findings have been printed
//	}
//	for _, program := range checked.Programs {
package rulefiles
