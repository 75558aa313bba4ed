// Administers a cluster with franz-go's kadm, step by step, and prints a line of JSON for what each step showed.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func show(step string, what any) {
	line, err := json.Marshal(map[string]any{"step": step, "found": what})
	check(err)
	fmt.Println(string(line))
}

func text(value string) *string { return &value }

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(os.Args[1], ",")...))
	check(err)
	defer client.Close()
	admin := kadm.NewClient(client)

	created, err := admin.CreateTopic(ctx, 2, 2, map[string]*string{"retention.ms": text("1000")}, "t")
	check(err)
	check(created.Err)
	show("topic", created.NumPartitions)

	rules := kadm.NewACLs().Topics("t").Allow("User:bob").AllowHosts().Operations(kadm.OpRead).
		ResourcePatternType(kadm.ACLPatternPrefixed)
	made, err := admin.CreateACLs(ctx, rules)
	check(err)
	for _, one := range made {
		check(one.Err)
	}
	show("acls created", len(made))
	filter := kadm.NewACLs().AnyResource().Allow().AllowHosts().Operations().
		ResourcePatternType(kadm.ACLPatternAny)
	found, err := admin.DescribeACLs(ctx, filter)
	check(err)
	shown := []string{}
	for _, one := range found {
		check(one.Err)
		for _, rule := range one.Described {
			shown = append(shown, fmt.Sprintf("%s %s %s %s %s", rule.Principal, rule.Operation, rule.Type, rule.Name, rule.Pattern))
		}
	}
	show("acls", shown)
	gone, err := admin.DeleteACLs(ctx, rules)
	check(err)
	count := 0
	for _, one := range gone {
		check(one.Err)
		count += len(one.Deleted)
	}
	show("acls deleted", count)

	altered, err := admin.AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{
		{User: "carol", Mechanism: kadm.ScramSha256, Iterations: 5000, Password: "secret"},
	})
	check(err)
	check(altered.Error())
	users, err := admin.DescribeUserSCRAMs(ctx)
	check(err)
	show("users", fmt.Sprint(users["carol"].CredInfos))
	_, err = admin.AlterUserSCRAMs(ctx, []kadm.DeleteSCRAM{{User: "carol", Mechanism: kadm.ScramSha256}}, nil)
	check(err)
	users, err = admin.DescribeUserSCRAMs(ctx)
	check(err)
	show("users left", len(users))

	entity := kadm.ClientQuotaEntity{{Type: "user", Name: text("dave")}}
	quotas, err := admin.AlterClientQuotas(ctx, []kadm.AlterClientQuotaEntry{
		{Entity: entity, Ops: []kadm.AlterClientQuotaOp{{Key: "producer_byte_rate", Value: 2048}}},
	})
	check(err)
	for _, one := range quotas {
		check(one.Err)
	}
	limits, err := admin.DescribeClientQuotas(ctx, true, []kadm.DescribeClientQuotaComponent{
		{Type: "user", MatchType: 0, MatchName: text("dave")},
	})
	check(err)
	show("quotas", fmt.Sprint(limits[0].Values))

	topics, err := admin.Metadata(ctx, "t")
	check(err)
	partition := topics.Topics["t"].Partitions[0]
	other := int32(1)
	for _, id := range []int32{1, 2, 3} {
		if id != partition.Replicas[0] && id != partition.Replicas[1] {
			other = id
		}
	}
	var moves kadm.AlterPartitionAssignmentsReq
	moves.Assign("t", 0, []int32{other, partition.Replicas[0]})
	started, err := admin.AlterPartitionAssignments(ctx, moves)
	check(err)
	check(started.Error())
	moving, err := admin.ListPartitionReassignments(ctx, kadm.TopicsSet{"t": {0: {}}})
	check(err)
	adding := []int32{}
	for _, one := range moving.Sorted() {
		adding = append(adding, one.AddingReplicas...)
	}
	show("moving", len(adding) == 1 && adding[0] == other)
	for len(moving) > 0 {
		moving, err = admin.ListPartitionReassignments(ctx, kadm.TopicsSet{"t": {0: {}}})
		check(err)
	}
	show("moved to", other)
	elected, err := admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, kadm.TopicsSet{"t": {0: {}}})
	check(err)
	for _, of := range elected {
		for _, one := range of {
			show("elected", one.Err == nil || one.ErrMessage != "")
		}
	}

	configs, err := admin.DescribeTopicConfigs(ctx, "t")
	check(err)
	keys := []string{}
	for _, one := range configs {
		check(one.Err)
		for _, config := range one.Configs {
			if config.Source.String() == "DYNAMIC_TOPIC_CONFIG" {
				keys = append(keys, config.Key+"="+config.MaybeValue())
			}
		}
	}
	sort.Strings(keys)
	show("configs", keys)
	check(admin.CommitAllOffsets(ctx, "g", kadm.OffsetsFromRecords(kgo.Record{Topic: "t", Partition: 0, Offset: 6})))
	offsets, err := admin.FetchOffsets(ctx, "g")
	check(err)
	at, _ := offsets.Lookup("t", 0)
	show("committed", at.At)
}
