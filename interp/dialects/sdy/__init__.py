"""The dialect sdy of Shardy."""
