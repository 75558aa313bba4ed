"""Authorizer rules, SCRAM credentials of users, and client quotas."""
