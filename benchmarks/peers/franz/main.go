// A consumer and a producer of lines on franz-go, as a Go programmer would write them, for bench_cli.py to compare with.
//
//	franz consume ADDRESS TOPIC COUNT [format]    values as lines, or "partition offset key value"
//	franz produce ADDRESS TOPIC none|lz4|zstd [keyed]    the lines of stdin, with acks=all
package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

func consume(address, topic string, count int, formatted bool) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(address),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	defer out.Flush()
	var head []byte
	for count > 0 {
		fetches := client.PollFetches(context.Background())
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			count--
			if formatted {
				head = strconv.AppendInt(head[:0], int64(r.Partition), 10)
				head = append(head, ' ')
				head = strconv.AppendInt(head, r.Offset, 10)
				head = append(head, ' ')
				head = append(head, r.Key...)
				head = append(head, ' ')
				out.Write(head)
			}
			out.Write(r.Value)
			out.WriteByte('\n')
		})
	}
	return nil
}

func produce(address, topic, compression string, keyed bool) error {
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(address),
		kgo.DefaultProduceTopic(topic),
		kgo.ProducerBatchCompression(codecs[compression]),
		kgo.MaxBufferedRecords(1_000_000),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	var failed error
	onDone := func(_ *kgo.Record, err error) {
		if err != nil && failed == nil {
			failed = err
		}
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	for lines.Scan() {
		record := &kgo.Record{Value: bytes.Clone(lines.Bytes())}
		if keyed {
			if key, value, found := bytes.Cut(record.Value, []byte(":")); found {
				record.Key, record.Value = key, value
			}
		}
		client.Produce(context.Background(), record, onDone)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if err := client.Flush(context.Background()); err != nil {
		return err
	}
	return failed
}

func run(arguments []string) error {
	if len(arguments) < 4 {
		return fmt.Errorf("consume ADDRESS TOPIC COUNT [format] or produce ADDRESS TOPIC CODEC [keyed]")
	}
	address, topic, third, hasFifth := arguments[1], arguments[2], arguments[3], len(arguments) > 4
	if arguments[0] == "produce" {
		return produce(address, topic, third, hasFifth)
	}
	count, err := strconv.Atoi(third)
	if err != nil {
		return err
	}
	return consume(address, topic, count, hasFifth)
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
